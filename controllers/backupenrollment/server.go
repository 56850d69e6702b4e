package backupenrollment

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/veleroversion"
	"github.com/daytwo-dev/daytwo/controllers/internal/background"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
)

// askTime is how long Velero may take to answer.
const askTime = time.Minute

// newQuestions are the tasks that ask Velero for its version. One that does not answer is asked again.
func newQuestions() *background.Tasks[string] {
	return background.New[string](func(error) bool { return false })
}

// askServer has Velero asked for its version if that is due, and an answer can be expected.
func (r *Reconciler) askServer(o *observation, cluster *fleet.Cluster) server {
	own, s := o.Status.Velero, server{told: o.Status.Server}
	if o.Suspension.Active || o.Extra.velero.schedule == nil || !isAnswering(o) {
		return s
	}
	// A question is known by the one before it, so its answer is taken up once.
	task := "server"
	if s.told != nil {
		task += " " + s.told.CheckedAt.UTC().Format(time.RFC3339)
	}
	id := background.IDOf(o.Target, task)
	progress := r.questions.Progress(id)
	switch {
	case progress.Done:
		s.told = veleroversion.Answered(progress.Result, o.Now)
	case progress.Running:
		return s
	case progress.Err != nil && o.Now.Before(progress.Again):
		s.wakeAt = progress.Again
		return s
	}
	if s.wakeAt = veleroversion.AskedAt(s.told); o.Now.Before(s.wakeAt) {
		return s
	}
	namespace, name, schedule := own.Namespace, own.Name, o.Extra.velero.schedule.GetUID()
	r.questions.Start(id, o.Now.Add(askTime), func(ctx context.Context) (string, error) {
		return veleroversion.Ask(ctx, cluster, namespace, name, schedule)
	})
	s.wakeAt = time.Time{}
	return s
}

// server is what is known of Velero's server.
type server struct {
	// told is what it said last; nil before the first time.
	told *backupv1alpha1.VeleroServer
	// wakeAt is when it is asked next; zero while it is.
	wakeAt time.Time
}

// isAnswering is whether Velero looks at its storage, so that an answer can be expected.
func isAnswering(o *observation) bool {
	switch storageFinding(o.Extra.velero, staleAfter(frequencyOf(o.Status.Velero)), o.Now).reason {
	case backupv1alpha1.ReasonStorageNotChecked, backupv1alpha1.ReasonVeleroUnavailable:
		return false
	}
	return true
}

// finding is no condition of its own.
func (s server) finding() finding {
	if s.told == nil || !veleroversion.IsTooOld(s.told.Version) {
		return finding{}
	}
	return finding{
		status: metav1.ConditionFalse, reason: backupv1alpha1.ReasonVeleroUnavailable, stalled: true,
		message: fmt.Sprintf("Velero in the cluster is %s: install %s or newer there", s.told.Version, veleroversion.Oldest),
	}
}
