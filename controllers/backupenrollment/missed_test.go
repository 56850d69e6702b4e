package backupenrollment

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/starts"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/veleroobjects"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
)

// TestAStartThatVeleroMissedIsCaughtUp has a Velero that does not run when a backup is to start, and is back in a blackout, after
// which it does not make up for what was before. The clock of the manager is set forward, since a start is taken for missed
// after five minutes.
func TestAStartThatVeleroMissedIsCaughtUp(t *testing.T) {
	w := newEnv(t)
	start := time.Now().UTC().Add(90 * time.Second).Truncate(time.Minute)
	w.enroll(start)
	w.awaitStorage()
	w.must(w.cluster.KillVelero(t.Context()))
	expect.Eventually(t, "the start is over", func(context.Context) error {
		if !time.Now().After(start) {
			return errors.New("it is to come")
		}
		return nil
	})
	w.clock.by.Store(int64(starts.MissedAfter + 2*time.Minute))
	w.looked("away")
	w.expectNothingMade("a start that Velero is going to make itself")
	opens := w.clock.Now().UTC().Add(-time.Minute)
	w.setBlackouts(fmt.Sprintf(`[{"schedule":"%d %d * * *","duration":"1h"}]`, opens.Minute(), opens.Hour()), true)
	w.must(w.cluster.StartVelero(t.Context()))
	w.looked("back")
	w.expectNothingMade("in a blackout, a start")

	w.setBlackouts(`[]`, false)
	expect.Eventually(t, "the start is caught up", func(ctx context.Context) error {
		made := w.status(ctx).CaughtUp
		if made == nil || made.Action.Outcome != metav1alpha1.ActionSucceeded {
			return fmt.Errorf("caught up %+v", made)
		}
		if made.Reason != backupv1alpha1.CatchUpMissed || !made.ScheduledAt.Time.Equal(start) {
			t.Errorf("caught up %+v, and the start was %s", made, start)
		}
		return nil
	})
	w.looked("afterwards")
	if backups := w.velero(t.Context(), veleroobjects.BackupKind); len(backups) != 1 {
		t.Errorf("there are %d backups for one start", len(backups))
	}
}

func (w *env) expectNothingMade(what string) {
	w.Helper()
	if status := w.status(w.Context()); status.CaughtUp != nil || len(w.velero(w.Context(), veleroobjects.BackupKind)) > 0 {
		w.Errorf("%s is caught up: %+v", what, status.CaughtUp)
	}
}

// setBlackouts changes the windows, and waits until the Schedule is paused, or is not.
func (w *env) setBlackouts(windows string, paused bool) {
	w.Helper()
	enrollment := &backupv1alpha1.BackupEnrollment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "nightly-prod"}}
	patch := fmt.Appendf(nil, `{"spec":{"schedule":{"blackouts":%s}}}`, windows)
	w.must(w.management.Patch(w.Context(), enrollment, client.RawPatch(types.MergePatchType, patch)))
	expect.Eventually(w, fmt.Sprintf("the Schedule is paused: %t", paused), func(ctx context.Context) error {
		if got, _, _ := unstructured.NestedBool(w.velero(ctx, veleroobjects.ScheduleKind)[0].Object, "spec", "paused"); got != paused {
			return fmt.Errorf("conditions %+v", w.status(ctx).Conditions)
		}
		return nil
	})
}

// looked has the controller look, and waits until it has.
func (w *env) looked(when string) {
	w.Helper()
	w.look(w.Context(), when)
	expect.Eventually(w, "it looks "+when, func(ctx context.Context) error {
		if handled := w.status(ctx).HandledRequest; handled != when {
			return fmt.Errorf("it handled %q", handled)
		}
		return nil
	})
}
