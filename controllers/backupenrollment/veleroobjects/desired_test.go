package veleroobjects

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/backupcontent"
)

// decidedAt is when the tests decide what is declared.
var decidedAt = time.Date(2026, time.November, 23, 12, 0, 0, 0, time.UTC)

var (
	nightly = types.NamespacedName{Namespace: "acme", Name: "nightly"}
	content = backupcontent.Content{
		VeleroNamespace: "velero", Cron: "0 2 * * *", TimeZone: "Europe/Berlin", Spread: time.Hour, TTL: 720 * time.Hour,
		Storage:  backupcontent.Storage{Bucket: "backups", Prefix: "daytwo", Region: "eu", Endpoint: "https://s3.example.com"},
		Template: backupv1alpha1.BackupTemplate{ExcludedNamespaces: []string{"scratch"}},
	}
)

func TestEachClusterHasAPrefixAndAStartOfItsOwn(t *testing.T) {
	one, err := Arrange(nil, content, nightly, "id-1", decidedAt)
	if err != nil {
		t.Fatal(err)
	}
	other, err := Arrange(nil, content, nightly, "id-2", decidedAt)
	if err != nil {
		t.Fatal(err)
	}
	if one.Prefix != "daytwo/acme/nightly/id-1" || other.Prefix != "daytwo/acme/nightly/id-2" {
		t.Errorf("prefixes %q and %q", one.Prefix, other.Prefix)
	}
	if one.Cron == other.Cron || !strings.HasSuffix(one.Cron, " 1 * * *") {
		t.Errorf("they start at %q and %q", one.Cron, other.Cron)
	}
	if one.Name != other.Name || len(one.Name) > maxName || !strings.HasPrefix(one.Name, "nightly-") {
		t.Errorf("the objects are %q and %q", one.Name, other.Name)
	}
	if foreign := NameFor(types.NamespacedName{Namespace: "other", Name: "nightly"}); foreign == one.Name {
		t.Error("two policies of one name have the same objects")
	}
	if long := NameFor(types.NamespacedName{Namespace: "acme", Name: strings.Repeat("x.", 100)}); len(long) > maxName {
		t.Errorf("%q has %d characters", long, len(long))
	}
}

func TestAPrefixStaysThoughThePolicyChanges(t *testing.T) {
	was := &backupv1alpha1.VeleroObjects{Prefix: "old/place"}
	now, err := Arrange(was, content, nightly, "id-1", decidedAt)
	if err != nil || now.Prefix != "old/place" {
		t.Errorf("%+v, %v", now, err)
	}
	if want := time.Date(2027, time.March, 28, 1, 0, 0, 0, time.UTC); !now.Until.Time.Equal(want) {
		t.Errorf("it holds until %s, not %s", now.Until, want)
	}
}

// TestVeleroGetsWhatItNeedsAndNoMore compares with what was seen to work, and holds what Velero's own fields and traps ask
// for.
func TestVeleroGetsWhatItNeedsAndNoMore(t *testing.T) {
	arranged, err := Arrange(nil, content, nightly, "id-1", decidedAt)
	if err != nil {
		t.Fatal(err)
	}
	arranged.ValidationFrequency = &metav1.Duration{Duration: ValidateEvery}
	template, err := BackupSpec(content, arranged)
	if err != nil {
		t.Fatal(err)
	}
	list, err := Desired(content, arranged, Credentials{File: "[default]\n"}, template)
	if err != nil {
		t.Fatal(err)
	}
	specs := map[string]string{}
	for _, object := range list {
		if object.GetName() != arranged.Name || object.GetNamespace() != "velero" {
			t.Errorf("%s is %s/%s", object.GetKind(), object.GetNamespace(), object.GetName())
		}
		text, err := json.Marshal(object.Object["spec"])
		if err != nil {
			t.Fatal(err)
		}
		specs[object.GetKind()] = string(text)
	}
	key := Credentials{File: "[default]\n"}.Key()
	wantLocation := `{"config":{"checksumAlgorithm":"","region":"eu","s3ForcePathStyle":"true","s3Url":"https://s3.example.com"},` +
		`"credential":{"key":"` + key + `","name":"` + arranged.Name + `"},"objectStorage":{"bucket":"backups","prefix":"daytwo/acme/nightly/id-1"},` +
		`"provider":"aws","validationFrequency":"5m0s"}`
	wantSchedule := `{"schedule":"` + arranged.Cron + `","template":{"excludedNamespaces":["scratch","velero"],"metadata":{"labels":{"daytwo.dev/backup":"` + arranged.Name + `"}},` +
		`"storageLocation":"` + arranged.Name + `","ttl":"720h0m0s"},"useOwnerReferencesInBackup":false}`
	if got := specs["BackupStorageLocation"]; got != wantLocation {
		t.Errorf("got\n%s\nwant\n%s", got, wantLocation)
	}
	if got := specs["Schedule"]; got != wantSchedule {
		t.Errorf("got\n%s\nwant\n%s", got, wantSchedule)
	}
	if len(content.Template.ExcludedNamespaces) != 1 {
		t.Error("the content was changed")
	}
	if key == (Credentials{File: "[default]\nother"}).Key() {
		t.Error("other credentials have the same key: Velero would not look at the storage again")
	}
}

func TestABlackoutPausesTheScheduleAndSkipsItsStarts(t *testing.T) {
	for name, test := range map[string]struct {
		arranged backupv1alpha1.VeleroObjects
		paused   bool
		skipped  string
	}{
		"none is open": {},
		"one is open":  {backupv1alpha1.VeleroObjects{Paused: true, SkippedUntil: &metav1.Time{Time: decidedAt}}, true, "2026-11-23T12:00:00Z"},
		"one has been": {backupv1alpha1.VeleroObjects{SkippedUntil: &metav1.Time{Time: decidedAt}}, false, "2026-11-23T12:00:00Z"},
	} {
		declared := scheduleObject(&test.arranged, map[string]any{})
		paused, _, _ := unstructured.NestedBool(declared.Object, "spec", "paused")
		skipped, _, _ := unstructured.NestedString(declared.Object, "status", "lastSkipped")
		if paused != test.paused || skipped != test.skipped {
			t.Errorf("%s: declared as %v", name, declared.Object)
		}
	}
}

func TestNoTwoEnrollmentsShareAPrefix(t *testing.T) {
	seen := map[string]string{}
	for _, prefix := range []string{"a", "a/b", "a/b/c"} {
		for _, policy := range []types.NamespacedName{{Namespace: "b", Name: "c"}, {Namespace: "c", Name: "d"}, {Namespace: "b", Name: "c.d"}} {
			for _, id := range []types.UID{"one", "two"} {
				content := backupcontent.Content{VeleroNamespace: "velero", Cron: "@daily", Storage: backupcontent.Storage{Prefix: prefix}}
				arranged, err := Arrange(nil, content, policy, id, decidedAt)
				if err != nil {
					t.Fatal(err)
				}
				who := fmt.Sprint(prefix, policy, id)
				if other := seen[arranged.Prefix]; other != "" {
					t.Errorf("%s and %s share the prefix %s", who, other, arranged.Prefix)
				}
				seen[arranged.Prefix] = who
			}
		}
	}
}

func TestAScheduleBeginsWithItsExpression(t *testing.T) {
	earlier := &metav1.Time{Time: decidedAt.Add(-time.Hour)}
	for name, test := range map[string]struct {
		was  *backupv1alpha1.VeleroObjects
		want *metav1.Time
	}{
		"nothing was there":             {nil, &metav1.Time{Time: decidedAt}},
		"as before":                     {&backupv1alpha1.VeleroObjects{Cron: "0 2 * * *", StartsSince: earlier}, earlier},
		"as before there was a record":  {&backupv1alpha1.VeleroObjects{Cron: "0 2 * * *"}, nil},
		"another expression":            {&backupv1alpha1.VeleroObjects{Cron: "0 3 * * *", StartsSince: earlier, Until: &metav1.Time{Time: decidedAt.Add(time.Hour)}}, &metav1.Time{Time: decidedAt}},
		"the clock of the zone was set": {&backupv1alpha1.VeleroObjects{Cron: "0 3 * * *", StartsSince: earlier, Until: &metav1.Time{Time: decidedAt}}, earlier},
	} {
		if got := startsSince(test.was, "0 2 * * *", decidedAt); !got.Equal(test.want) {
			t.Errorf("%s: %s, not %s", name, got, test.want)
		}
	}
}
