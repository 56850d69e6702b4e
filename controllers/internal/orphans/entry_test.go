package orphans

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
)

var noon = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

func entryOf(cluster, holder string, at time.Time, objects ...string) Entry {
	return Entry{
		Cluster: types.NamespacedName{Namespace: "acme", Name: cluster}, ClusterID: "id-1", Holder: holder,
		Objects: objects, Why: "the cluster did not answer", At: at,
	}
}

func mustAdd(t *testing.T, ledger map[string]string, entry Entry) map[string]string {
	t.Helper()
	grown, err := add(ledger, entry)
	if err != nil {
		t.Fatal(err)
	}
	return grown
}

func TestTheSameHolderHasOneEntry(t *testing.T) {
	ledger := mustAdd(t, nil, entryOf("prod", "AddonRelease acme/a", noon, "v1/Service/web/lb"))
	ledger = mustAdd(t, ledger, entryOf("prod", "AddonRelease acme/a", noon.Add(time.Minute), "v1/Service/web/lb"))
	ledger = mustAdd(t, ledger, entryOf("prod", "AddonRelease acme/b", noon, "v1/Service/web/other"))
	if len(ledger) != 2 {
		t.Errorf("the ledger is %v", ledger)
	}
	for key, content := range ledger {
		if problems := validation.IsConfigMapKey(key); len(problems) > 0 {
			t.Errorf("%s: %v", key, problems)
		}
		var stored record
		if err := json.Unmarshal([]byte(content), &stored); err != nil || stored.Cluster != "acme/prod" || len(stored.Objects) != 1 {
			t.Errorf("%s: %s, %v", key, content, err)
		}
	}
}

func TestWhatIsToldInPartsIsOneEntry(t *testing.T) {
	ledger := mustAdd(t, nil, entryOf("prod", "AddonRelease acme/a", noon, "v1/Service/web/lb"))
	ledger = mustAdd(t, ledger, entryOf("prod", "AddonRelease acme/a", noon.Add(time.Minute), "v1/Service/web/other"))
	for _, content := range ledger {
		if len(ledger) != 1 || !strings.Contains(content, "web/lb") || !strings.Contains(content, "web/other") || !madeAt(content).Equal(noon) {
			t.Errorf("the ledger is %v", ledger)
		}
	}
}

func TestTheLedgerIsBoundedAndSaysWhatItDropped(t *testing.T) {
	var many []string
	for i := range 10 * maxObjects {
		many = append(many, fmt.Sprintf("v1/PersistentVolumeClaim/data/%s-%d", strings.Repeat("x", 240), i))
	}
	var ledger map[string]string
	for i := range maxEntries + 7 {
		ledger = mustAdd(t, ledger, entryOf("prod", fmt.Sprintf("AddonRelease acme/%d", i), noon.Add(time.Duration(i)*time.Second), many...))
	}
	dropped, err := strconv.Atoi(ledger[droppedKey])
	if err != nil || dropped < 7 || len(ledger)-1+dropped != maxEntries+7 {
		t.Errorf("%d entries, %q dropped", len(ledger)-1, ledger[droppedKey])
	}
	size := 0
	for key, content := range ledger {
		size += len(key) + len(content)
		if key != droppedKey && madeAt(content).Before(noon.Add(time.Duration(dropped)*time.Second)) {
			t.Errorf("an old entry is there, and a newer one was dropped: %s", content[:80])
		}
	}
	if size > 1<<20 {
		t.Errorf("the ledger has %d bytes, more than a ConfigMap may", size)
	}
}

func TestTheNumberOfEntriesIsBounded(t *testing.T) {
	var ledger map[string]string
	for i := range maxEntries + 3 {
		ledger = mustAdd(t, ledger, entryOf("prod", fmt.Sprintf("AddonRelease acme/%d", i), noon, "v1/Service/web/lb"))
	}
	if len(ledger) != maxEntries+1 || ledger[droppedKey] != "3" {
		t.Errorf("%d entries, %q dropped", len(ledger)-1, ledger[droppedKey])
	}
}

func TestAnEntryNamesTheFirstObjects(t *testing.T) {
	entry := entryOf("prod", "AddonRelease acme/a", noon, "a", "b", "c", "d", "e", "f", "g")
	if got := entry.String(); got != "a, b, c, d, e and 2 more" {
		t.Error(got)
	}
}
