package target

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/tracker"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
)

// note is a target of the simplest kind.
type note struct {
	metav1.ObjectMeta
	runtime.Object
	spec   metav1alpha1.TargetSpec
	status metav1alpha1.TargetStatus
}

func (n *note) GetTargetSpec() *metav1alpha1.TargetSpec     { return &n.spec }
func (n *note) GetTargetStatus() *metav1alpha1.TargetStatus { return &n.status }

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func TestOnlyTheLatestTenCorrectionsAreKept(t *testing.T) {
	next := Status{TargetStatus: &metav1alpha1.TargetStatus{}, ObjectsStatus: &metav1alpha1.ObjectsStatus{}}
	o := Observation{Preconditions: NewPreconditions(&note{}, noon), Drift: &metav1alpha1.DriftPolicy{}}
	corrected := apply.Written{
		Write:       apply.Write{Object: apply.Object{Ref: objects.Ref{Name: "a"}}, Purpose: apply.PurposeCorrect, Seen: &tracker.Seen{At: noon, Fingerprint: "theirs"}},
		Fingerprint: "ours", Result: &metav1.PartialObjectMetadata{}, At: noon,
	}
	for range maxCorrections + 5 {
		reportDrift(next, Findings{Observation: o, Corrections: []apply.Written{corrected}})
	}
	if next.Drift.Count != maxCorrections+5 || len(next.Drift.Corrections) != maxCorrections {
		t.Errorf("count %d, kept %d", next.Drift.Count, len(next.Drift.Corrections))
	}
}

// Of more corrections than a status keeps, each counts once, however often the status cannot be written.
func TestCorrectionsThatNoStatusTellsOfYetAreToldOnce(t *testing.T) {
	o := Observation{Preconditions: NewPreconditions(&note{}, noon), Drift: &metav1alpha1.DriftPolicy{}}
	for i := range maxCorrections + 5 {
		at := noon.Add(time.Duration(i) * time.Second)
		o.untold = o.untold.and([]apply.Written{{
			Write:  apply.Write{Object: apply.Object{Ref: objects.Ref{Name: "a"}}, Seen: &tracker.Seen{At: at}},
			Result: &metav1.PartialObjectMetadata{}, At: at.Add(time.Nanosecond),
		}})
	}
	next := Status{TargetStatus: &metav1alpha1.TargetStatus{}, ObjectsStatus: &metav1alpha1.ObjectsStatus{}}
	reportDrift(next, Findings{Observation: o})
	last := noon.Add((maxCorrections + 4) * time.Second)
	if next.Drift.Count != maxCorrections+5 || len(next.Drift.Corrections) != maxCorrections || !next.Drift.Corrections[0].Corrected.Time.Truncate(time.Second).Equal(last) {
		t.Errorf("count %d, kept %d, the latest %+v", next.Drift.Count, len(next.Drift.Corrections), next.Drift.Corrections[0])
	}
	// It was written after all.
	stored := next.Drift.DeepCopy()
	stored.Corrections[0].Corrected = metav1.NewMicroTime(stored.Corrections[0].Corrected.Truncate(time.Microsecond))
	if again := o.untold.unlessIn(*stored); again.earlier+int64(len(again.latest)) != 0 {
		t.Errorf("told again: %+v", again)
	}
	if again := o.untold.unlessIn(metav1alpha1.DriftStatus{Corrections: stored.Corrections[1:]}); again.earlier != 5 || len(again.latest) != maxCorrections {
		t.Errorf("not told: %+v", again)
	}
}

func TestNamesTenManagersOfWhatStays(t *testing.T) {
	var objects [][]string
	for i := range 12 {
		managers := []string{fmt.Sprintf("program-%02d", i)}
		if i < 3 {
			managers = append(managers, "mesh")
		}
		objects = append(objects, managers)
	}
	list := countManagers(append(objects, nil))
	if len(list) != 10 || list[0].Manager != "mesh" || list[0].Objects != 3 || list[1].Manager != "program-00" || list[9].Objects != 1 {
		t.Errorf("got %v", list)
	}
	if list := countManagers([][]string{{strings.Repeat("x", 1000)}}); len(list[0].Manager) > 128 {
		t.Errorf("a name of %d bytes", len(list[0].Manager))
	}
}

func TestWhatIsNotVerifiedStalls(t *testing.T) {
	err := fmt.Errorf("verify before it is applied: %w", &apply.VerificationError{Reason: "the key does not fit"})
	if got := VerdictOfWrites(apply.Plan{}, apply.Result{Err: err}); !got.Stalled || got.Reason != metav1alpha1.ReasonRefused || got.Message != "the key does not fit" {
		t.Errorf("%+v", got)
	}
	if got := VerdictOfWrites(apply.Plan{}, apply.Result{Err: errors.New("no answer")}); got.Stalled || got.Reason != metav1alpha1.ReasonFailed {
		t.Errorf("%+v", got)
	}
}
