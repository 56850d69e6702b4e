package backupenrollment

import (
	"cmp"
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/details"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/history"
	"github.com/daytwo-dev/daytwo/controllers/internal/background"
	"github.com/daytwo-dev/daytwo/controllers/internal/backupcontent"
	"github.com/daytwo-dev/daytwo/controllers/internal/backupstore"
)

// detailsTask is the name of the task that reads details.
const detailsTask = "details"

// readingTime is how long one try to read the details of several backups may take.
const readingTime = 10 * time.Minute

// newDetails are the tasks that read details. Whatever fails may be mended in the bucket.
func newDetails() *background.Tasks[history.AllDetails] {
	return background.New[history.AllDetails](func(error) bool { return false })
}

// readDetails has what is not known yet read from the bucket, and says what is.
func (r *Reconciler) readDetails(o *observation) details.Plan {
	if o.Extra.velero.missing || o.Extra.velero.backups.Unknown != "" || o.Extra.velero.backups.Pending() {
		return details.Plan{Known: history.RecordedDetails(&o.Status)}
	}
	task := background.IDOf(o.Target, detailsTask)
	progress := r.details.Progress(task)
	plan := details.PlanReading(o.Extra.velero.backups.Objects, standardOf(o, history.RecordedDetails(&o.Status)), progress, o.Now)
	switch {
	case len(plan.Due) > 0:
		enrollment, due, before := o.Target.DeepCopy(), plan.Due, progress.Result
		enrollment.Status.Velero = o.Status.Velero.DeepCopy()
		r.details.Start(task, o.Now.Add(readingTime), func(ctx context.Context) (history.AllDetails, error) {
			return r.detailsOf(ctx, enrollment, due, before)
		})
	case len(plan.Unread) == 0 && plan.Settled:
		r.details.Forget(task.NamespacedName)
	}
	return plan
}

// detailsOf reads the details of backups from the bucket, as details.ReadEach says.
func (r *Reconciler) detailsOf(ctx context.Context, enrollment *backupv1alpha1.BackupEnrollment, wanted []history.ID, before history.AllDetails) (history.AllDetails, error) {
	// The credentials for drills, if there are any, need not be able to write.
	store, err := r.openStore(ctx, enrollment, cmp.Or(enrollment.Spec.DrillCredentialsSecret, enrollment.Spec.CredentialsSecret))
	if err != nil {
		return before, err
	}
	return details.ReadEach(ctx, store, wanted, before)
}

// openStore opens the bucket at the prefix of an enrollment's cluster, with the credentials of a Secret.
func (r *Reconciler) openStore(ctx context.Context, enrollment *backupv1alpha1.BackupEnrollment, secret string) (*backupstore.Store, error) {
	content, err := backupcontent.Read(ctx, r.Room.APIReader, types.NamespacedName{Namespace: enrollment.Namespace, Name: enrollment.Spec.Revision})
	if err != nil {
		return nil, err
	}
	access, _, err := backupstore.ReadCredentials(ctx, r.Room.APIReader, client.ObjectKey{Namespace: enrollment.Namespace, Name: secret})
	if err != nil {
		return nil, err
	}
	storage := content.Storage
	return backupstore.Open(backupstore.Location{
		Bucket: storage.Bucket, Prefix: enrollment.Status.Velero.Prefix, Region: storage.Region, Endpoint: storage.Endpoint, CA: storage.CA,
	}, access, r.Storage)
}
