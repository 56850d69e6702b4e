package drdrill

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/backupstore"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func made(name string, phase velerov1.BackupPhase, hoursAgo int, items int64) backupstore.Backup {
	return backupstore.Backup{Name: name, Phase: phase, StartedAt: noon.Add(-time.Duration(hoursAgo) * time.Hour), Items: items}
}

func TestTheBackupThatIsRestored(t *testing.T) {
	bucket := []backupstore.Backup{
		made("running", velerov1.BackupPhaseInProgress, 0, 5), made("partial", velerov1.BackupPhasePartiallyFailed, 1, 5),
		made("today", velerov1.BackupPhaseCompleted, 2, 5), made("empty", velerov1.BackupPhaseCompleted, 3, 0),
		made("yesterday", velerov1.BackupPhaseCompleted, 26, 5), made("failed", velerov1.BackupPhaseFailed, 50, 5),
	}
	strict := backupv1alpha1.BackupEnrollmentSpec{MinItems: ptr.To[int32](1)}
	lax := backupv1alpha1.BackupEnrollmentSpec{AcceptPartiallyFailed: true, MinItems: ptr.To[int32](1)}
	hours := func(n int) *metav1.Duration { return &metav1.Duration{Duration: time.Duration(n) * time.Hour} }
	for name, row := range map[string]struct {
		choice   backupv1alpha1.BackupChoice
		standard backupv1alpha1.BackupEnrollmentSpec
		want     string
	}{
		"the latest good one":                     {backupv1alpha1.BackupChoice{Select: backupv1alpha1.BackupLatest}, strict, "today"},
		"a partial one, where the policy does":    {backupv1alpha1.BackupChoice{Select: backupv1alpha1.BackupLatest}, lax, "partial"},
		"the oldest good one":                     {backupv1alpha1.BackupChoice{Select: backupv1alpha1.BackupOldestUsable}, strict, "yesterday"},
		"any of the last day":                     {backupv1alpha1.BackupChoice{Select: backupv1alpha1.BackupRandom, Within: hours(24)}, strict, "today"},
		"none is so young":                        {backupv1alpha1.BackupChoice{Select: backupv1alpha1.BackupRandom, Within: hours(1)}, strict, "none of the 6 backups of this cluster can be restored: see the BackupEnrollment"},
		"the named one":                           {backupv1alpha1.BackupChoice{Select: backupv1alpha1.BackupNamed, Name: "yesterday"}, strict, "yesterday"},
		"a named one that is not there":           {backupv1alpha1.BackupChoice{Select: backupv1alpha1.BackupNamed, Name: "x"}, strict, "the bucket has no backup x of this cluster: correct spec.backup.name of another drill"},
		"a named one that failed":                 {backupv1alpha1.BackupChoice{Select: backupv1alpha1.BackupNamed, Name: "failed"}, strict, "backup failed cannot be restored: it is Failed"},
		"a named one that is empty":               {backupv1alpha1.BackupChoice{Select: backupv1alpha1.BackupNamed, Name: "empty"}, strict, "backup empty cannot be restored: it has 0 objects, and the policy's spec.minItems asks for 1"},
		"a named one that does not say its start": {backupv1alpha1.BackupChoice{Select: backupv1alpha1.BackupNamed, Name: "timeless"}, strict, "backup timeless cannot be restored: it does not say when it started"},
	} {
		t.Run(name, func(t *testing.T) {
			drill := &backupv1alpha1.DRDrill{ObjectMeta: metav1.ObjectMeta{UID: "u"}, Spec: backupv1alpha1.DRDrillSpec{DrillScope: backupv1alpha1.DrillScope{Backup: row.choice}}}
			all := append(slices.Clone(bucket), backupstore.Backup{Name: "timeless", Phase: velerov1.BackupPhaseCompleted, Items: 5})
			if row.choice.Name != "timeless" {
				all = bucket
			}
			chosen, err := chooseBackup(drill, all, row.standard, noon)
			got := chosen.Name
			if err != nil {
				got = err.Error()
			}
			if got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

// A drill that is looked at again, as after a start of the manager, chooses the same; others choose others.
func TestChanceIsTheSameForOneDrill(t *testing.T) {
	var bucket []backupstore.Backup
	for i := range 20 {
		bucket = append(bucket, made(fmt.Sprint(i), velerov1.BackupPhaseCompleted, i, 5))
	}
	chosen := map[string]int{}
	for i := range 200 {
		drill := &backupv1alpha1.DRDrill{ObjectMeta: metav1.ObjectMeta{UID: types.UID(fmt.Sprint(i))}}
		drill.Spec.Backup = backupv1alpha1.BackupChoice{Select: backupv1alpha1.BackupRandom}
		first, err := chooseBackup(drill, bucket, backupv1alpha1.BackupEnrollmentSpec{}, noon)
		again, _ := chooseBackup(drill, bucket, backupv1alpha1.BackupEnrollmentSpec{}, noon)
		if err != nil || first.Name != again.Name {
			t.Fatalf("%q, then %q, %v", first.Name, again.Name, err)
		}
		chosen[first.Name]++
	}
	if len(chosen) < 18 {
		t.Errorf("200 drills chose among %d of 20 backups", len(chosen))
	}
}

func TestTheNamespacesThatAreRestored(t *testing.T) {
	archived := map[string]map[schema.GroupResource]bool{"a": {}, "b": {}, "c": {}, strings.Repeat("long", 15): {}}
	drill := func(change func(*backupv1alpha1.DRDrillSpec)) *backupv1alpha1.DRDrill {
		one := &backupv1alpha1.DRDrill{ObjectMeta: metav1.ObjectMeta{UID: "u"}}
		one.Spec.Namespaces.Sample = ptr.To[int32](16)
		one.Spec.Target.Mode = backupv1alpha1.DrillStandby
		change(&one.Spec)
		return one
	}
	all, err := chooseNamespaces(drill(func(*backupv1alpha1.DRDrillSpec) {}), archived)
	if err != nil || len(all) != 4 || all[0].Name != "a" || all[0].RestoredAs != "a" {
		t.Errorf("got %+v, %v", all, err)
	}
	two, err := chooseNamespaces(drill(func(spec *backupv1alpha1.DRDrillSpec) { spec.Namespaces.Sample = ptr.To[int32](2) }), archived)
	if err != nil || len(two) != 2 || two[0].Name >= two[1].Name {
		t.Errorf("got %+v, %v", two, err)
	}
	_, err = chooseNamespaces(drill(func(spec *backupv1alpha1.DRDrillSpec) { spec.Namespaces.Include = []string{"b", "x"} }), archived)
	if err == nil || !strings.Contains(err.Error(), "nothing of namespace x") {
		t.Errorf("got %v", err)
	}
	if _, err = chooseNamespaces(drill(func(*backupv1alpha1.DRDrillSpec) {}), nil); err == nil {
		t.Error("an empty backup is taken for a rehearsal")
	}
	mapped, err := chooseNamespaces(drill(func(spec *backupv1alpha1.DRDrillSpec) { spec.Target.Mode = backupv1alpha1.DrillNamespaceMapped }), archived)
	seen := map[string]bool{}
	for _, namespace := range mapped {
		if problems := validation.IsDNS1123Label(namespace.RestoredAs); len(problems) > 0 || namespace.RestoredAs == namespace.Name || seen[namespace.RestoredAs] {
			t.Errorf("%s is restored as %s: %v", namespace.Name, namespace.RestoredAs, problems)
		}
		seen[namespace.RestoredAs] = true
	}
	if err != nil || len(mapped) != 4 {
		t.Errorf("got %+v, %v", mapped, err)
	}
}
