package backupenrollment

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/background"
	"github.com/daytwo-dev/daytwo/controllers/internal/backupcontent"
	"github.com/daytwo-dev/daytwo/controllers/internal/backupstore"
	"github.com/daytwo-dev/daytwo/controllers/internal/truncate"
)

// detailsTask is the name of the task that reads details.
const detailsTask = "details"

const (
	// readingTime is how long one try to read the details of several backups may take, and readingTimeOfOne that of one.
	readingTime      = 10 * time.Minute
	readingTimeOfOne = time.Minute
)

// newDetails are the tasks that read details. Whatever fails may be mended in the bucket.
func newDetails() *background.Tasks[allDetails] {
	return background.New[allDetails](func(error) bool { return false })
}

// readDetails has what is not known yet read from the bucket, and says what is.
func (r *Reconciler) readDetails(o *observation) reading {
	if o.Extra.velero.missing || o.Extra.velero.backups.Unknown != "" || o.Extra.velero.backups.Pending() {
		return reading{known: recordedDetails(&o.Status)}
	}
	task := background.IDOf(o.Target, detailsTask)
	progress := r.details.Progress(task)
	plan := planReading(o, progress)
	switch {
	case len(plan.due) > 0:
		enrollment, due, before := o.Target.DeepCopy(), plan.due, progress.Result
		enrollment.Status.Velero = o.Status.Velero.DeepCopy()
		r.details.Start(task, o.Now.Add(readingTime), func(ctx context.Context) (allDetails, error) {
			return r.detailsOf(ctx, enrollment, due, before)
		})
	case len(plan.unread) == 0 && plan.settled:
		r.details.Forget(task.NamespacedName)
	}
	return plan
}

// detailsOf reads the details of backups from the bucket, and adds them to those that were read before. The error is that of
// the first backup of which that failed; the others are read nonetheless.
func (r *Reconciler) detailsOf(ctx context.Context, enrollment *backupv1alpha1.BackupEnrollment, wanted []backupID, before allDetails) (allDetails, error) {
	// The credentials for drills, if there are any, need not be able to write.
	store, err := r.openStore(ctx, enrollment, cmp.Or(enrollment.Spec.DrillCredentialsSecret, enrollment.Spec.CredentialsSecret))
	if err != nil {
		return before, err
	}
	return readEach(ctx, store, wanted, before)
}

// detailsStore is what details are read from.
type detailsStore interface {
	Details(ctx context.Context, backup string) (backupstore.Details, error)
}

// readEach reads the details of each backup, as detailsOf says.
func readEach(ctx context.Context, store detailsStore, wanted []backupID, before allDetails) (allDetails, error) {
	found := allDetails{}
	maps.Copy(found, before)
	var first error
	for _, id := range wanted {
		one, err := detailsOfOne(ctx, store, id.name)
		if err != nil {
			one = details{problem: truncate.Message(err.Error(), maxProblem)}
			first = cmp.Or(first, fmt.Errorf("details of backup %s: %w", id.name, err))
		}
		found[id] = one
	}
	return found, first
}

func detailsOfOne(ctx context.Context, store detailsStore, name string) (details, error) {
	ctx, cancel := context.WithTimeout(ctx, readingTimeOfOne)
	defer cancel()
	read, err := store.Details(ctx, name)
	if err != nil {
		return details{}, err
	}
	found := details{read: true, bytes: &read.Bytes, volumes: volumesOf(read.Volumes)}
	for _, problem := range read.Problems {
		text := problem.Origin + ": " + problem.Words
		if problem.IsWarning {
			text = warningMark + text
		}
		found.problems = append(found.problems, text)
	}
	return found, nil
}

func volumesOf(read *backupstore.Volumes) *backupv1alpha1.BackupVolumes {
	if read == nil {
		return nil
	}
	volumes := &backupv1alpha1.BackupVolumes{
		Total: ptr.To(int32(min(read.Total, math.MaxInt32))), Covered: ptr.To(int32(min(read.Covered, math.MaxInt32))),
		InRepository: int32(min(read.InRepository, math.MaxInt32)),
	}
	for _, one := range read.Uncovered {
		volumes.Uncovered = append(volumes.Uncovered, backupv1alpha1.UncoveredVolume{Name: one.Name, Reason: one.Reason})
	}
	return volumes
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
