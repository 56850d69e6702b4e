package expectations

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
)

var (
	noon = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	key  = types.NamespacedName{Namespace: "acme", Name: "cache"}
)

func TestOwnWritesAreExpected(t *testing.T) {
	cached := func(version string) func(string) (client.Object, bool) {
		return func(string) (client.Object, bool) {
			return &addonsv1alpha1.AddonRelease{ObjectMeta: metav1.ObjectMeta{Name: "a", ResourceVersion: version}}, version != ""
		}
	}
	writes := &Writes{}
	writes.Record(key, "a", "100", noon)
	switch {
	case !writes.Unmet(key, cached(""), noon):
		t.Error("a target that the cache lacks is not awaited")
	case !writes.Unmet(key, cached("99"), noon):
		t.Error("an older target is taken for the written one")
	case writes.Unmet(key, cached("101"), noon):
		t.Error("a newer target is not recognised")
	}
	writes.Record(key, "a", "100", noon)
	if writes.Unmet(key, cached(""), noon.Add(time.Minute)) {
		t.Error("a lost write is awaited for ever")
	}
}

func TestOwnDeletionsAreAwaited(t *testing.T) {
	one := addonsv1alpha1.AddonRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "a", ResourceVersion: "200"}}
	leaving := *one.DeepCopy()
	leaving.DeletionTimestamp = &metav1.Time{Time: noon}
	found := func(target *addonsv1alpha1.AddonRelease) func(string) (client.Object, bool) {
		return func(string) (client.Object, bool) { return target, target != nil }
	}
	writes := &Writes{}
	writes.RecordDeletion(key, "a", noon)
	if !writes.Unmet(key, found(&one), noon) {
		t.Error("a target that was deleted is taken for one that stays")
	}
	if writes.Unmet(key, found(&leaving), noon) {
		t.Error("a target that is being deleted is not recognised")
	}
	writes.RecordDeletion(key, "a", noon)
	if writes.Unmet(key, found(nil), noon) {
		t.Error("a target that is gone is awaited")
	}
}
