package backupenrollment

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/background"
	"github.com/daytwo-dev/daytwo/controllers/internal/backupstore"
)

const (
	// probeTime is how long a probe of the storage may take.
	probeTime = time.Minute
	// probeName is what the object is called that a probe writes. It is no directory, of which Velero knows its own alone
	// (pkg/persistence of Velero 1.18).
	probeName = "daytwo-probe-"
)

// storage is what is known of the storage beside Velero's word.
type storage struct {
	// check is what the last probe showed; nil before the first.
	check *backupv1alpha1.StorageCheck
	// wakeAt is when the next one is to be made; zero while one is under way.
	wakeAt time.Time
}

// newProbes are the tasks that probe storage. What came of one is an answer, whatever it is.
func newProbes() *background.Tasks[backupstore.Probe] {
	return background.New[backupstore.Probe](func(error) bool { return true })
}

// probeStorage has the storage probed if that is due, with the credentials that are in the cluster.
func (r *Reconciler) probeStorage(o *observation) storage {
	own, s := o.Status.Velero, storage{check: o.Status.Storage}
	if own.CredentialsVersion == "" || o.Suspension.Active {
		return s
	}
	// A probe is known by the one before it, so what came of it is taken up once.
	task := "storage " + own.CredentialsVersion
	if s.check != nil {
		task += " " + s.check.CheckedAt.UTC().Format(time.RFC3339)
	}
	id := background.IDOf(o.Target, task)
	if progress := r.probes.Progress(id); progress.Done {
		s.check = checkOf(s.check, own.CredentialsVersion, progress.Result, progress.Err, o.Now)
	} else if progress.Running {
		return s
	}
	if s.wakeAt = probedAt(s.check, own.CredentialsVersion); o.Now.Before(s.wakeAt) {
		return s
	}
	enrollment := o.Target.DeepCopy()
	enrollment.Status.Velero = own.DeepCopy()
	r.probes.Start(id, o.Now.Add(probeTime), func(ctx context.Context) (backupstore.Probe, error) {
		store, err := r.openStore(ctx, enrollment, enrollment.Spec.CredentialsSecret)
		if err != nil {
			return backupstore.Probe{}, err
		}
		return store.Probe(ctx, probeName+string(enrollment.UID))
	})
	s.wakeAt = time.Time{}
	return s
}

// forgetTasks of an enrollment that ends.
func (r *Reconciler) forgetTasks(o *observation) {
	key := client.ObjectKeyFromObject(o.Target)
	r.details.Forget(key)
	r.probes.Forget(key)
	r.mints.Forget(key)
	r.questions.Forget(key)
}
