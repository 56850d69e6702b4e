package orphans

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"
)

var noon = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

func entryOf(cluster, holder string, at time.Time, objects ...Object) Entry {
	return Entry{
		Cluster: types.NamespacedName{Namespace: "acme", Name: cluster}, ClusterID: "id-1", Holder: holder,
		Objects: objects, Why: "the cluster did not answer", At: at,
	}
}

func object(id string) Object { return Object{ID: id, UID: types.UID("uid-" + id[len(id)-1:])} }

func mustAdd(t *testing.T, ledger map[string]string, entry Entry) map[string]string {
	t.Helper()
	grown, err := add(ledger, entry)
	if err != nil {
		t.Fatal(err)
	}
	return grown
}

// only is the one entry of a ledger.
func only(t *testing.T, ledger map[string]string) Entry {
	t.Helper()
	content := read(ledger)
	if len(content.Entries) != 1 || len(content.Unreadable) > 0 {
		t.Fatalf("the ledger is %v", ledger)
	}
	return content.Entries[0]
}

func TestAnEntryIsReadAsItWasWritten(t *testing.T) {
	for name, entry := range map[string]Entry{
		"of a release": entryOf("prod", "AddonRelease acme/a", noon, object("v1/Service/web/a"), object("apps/v1/Deployment/web/b")),
		"without objects, but for their number": {
			Cluster: types.NamespacedName{Namespace: "acme", Name: "prod.eu"}, Holder: "AddonRelease acme/a", More: 12, At: noon,
		},
		"with all that may be said of an object": entryOf("prod", "AddonRelease acme/a", noon,
			Object{ID: "v1/PersistentVolumeClaim/web/data", UID: "1", Stays: true}, Object{ID: "v1/Service/web/lb", UID: "2", Why: `it says "no" & <more>`}),
		"of objects that are only intended": entryOf("prod", "AddonRelease acme/a", noon, Object{ID: "v1/Service/web/a"}),
	} {
		t.Run(name, func(t *testing.T) {
			got := only(t, mustAdd(t, nil, entry))
			want := entry.tidy()
			want.at = want.Key()
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got %+v, want %+v", got, want)
			}
			if problems := validation.IsConfigMapKey(got.Key()); len(problems) > 0 {
				t.Errorf("%s: %v", got.Key(), problems)
			}
		})
	}
}

// kubectl shows a text with lines as such lines, if there is nothing in it that YAML has to quote.
func TestAnEntryIsPleasantToRead(t *testing.T) {
	entry := entryOf("prod", "AddonRelease acme/a", noon, object("v1/Service/web/a"), Object{ID: "v1/Service/web/b", UID: "2", Stays: true})
	text, err := encode(entry)
	if err != nil {
		t.Fatal(err)
	}
	shown, err := yaml.Marshal(map[string]string{"prod": text})
	want := `prod: |
  {
    "cluster": "acme/prod",
    "clusterID": "id-1",
    "holder": "AddonRelease acme/a",
    "why": "the cluster did not answer",
    "at": "2026-03-01T12:00:00Z",
    "objects": [
      {"id":"v1/Service/web/a","uid":"uid-a"},
      {"id":"v1/Service/web/b","uid":"2","stays":true}
    ]
  }
`
	if err != nil || string(shown) != want {
		t.Errorf("it looks like this, %v:\n%s", err, shown)
	}
}

func TestTheSameHolderHasOneEntry(t *testing.T) {
	ledger := mustAdd(t, nil, entryOf("prod", "AddonRelease acme/a", noon, object("v1/Service/web/lb")))
	ledger = mustAdd(t, ledger, entryOf("prod", "AddonRelease acme/a", noon.Add(time.Minute), object("v1/Service/web/lb")))
	ledger = mustAdd(t, ledger, entryOf("prod", "AddonRelease acme/b", noon, object("v1/Service/web/other")))
	content := read(ledger)
	if len(content.Entries) != 2 || content.Entries[0].Count() != 1 || content.Entries[1].Count() != 1 {
		t.Errorf("the ledger is %v", ledger)
	}
}

func TestWhatIsToldInPartsIsOneEntry(t *testing.T) {
	ledger := mustAdd(t, nil, entryOf("prod", "AddonRelease acme/a", noon, object("v1/Service/web/lb")))
	ledger = mustAdd(t, ledger, entryOf("prod", "AddonRelease acme/a", noon.Add(time.Minute), object("v1/Service/web/other")))
	got := only(t, ledger)
	if len(got.Objects) != 2 || got.More != 0 || !got.At.Equal(noon) {
		t.Errorf("the entry is %+v", got)
	}
}

func TestTellingTwiceChangesNothing(t *testing.T) {
	long := Object{ID: "v1/Service/web/" + strings.Repeat("x", 2*maxID)}
	once := mustAdd(t, nil, entryOf("prod", "AddonRelease acme/a", noon, object("v1/Service/web/lb"), long))
	twice := mustAdd(t, once, entryOf("prod", "AddonRelease acme/a", noon, object("v1/Service/web/lb"), long))
	if !reflect.DeepEqual(once, twice) || only(t, twice).More != 1 {
		t.Errorf("the ledger is %v, and then %v", once, twice)
	}
}

func TestAnEntryNamesTheFirstObjects(t *testing.T) {
	entry := entryOf("prod", "AddonRelease acme/a", noon)
	for _, id := range strings.Split("abcdefg", "") {
		entry.Objects = append(entry.Objects, Object{ID: id})
	}
	entry.More = 10
	if got := entry.String(); got != "a, b, c, d, e and 12 more" {
		t.Error(got)
	}
}

func TestWhatAnEntryNamesFitsIntoAnEvent(t *testing.T) {
	entry := entryOf("prod", "AddonRelease acme/a", noon)
	for range 10 {
		entry.Objects = append(entry.Objects, Object{ID: strings.Repeat("ä", maxID/2)})
	}
	if got := entry.String(); len(got) > 600 || !strings.HasSuffix(got, "… and 9 more") {
		t.Errorf("%d bytes: %s", len(got), got)
	}
}
