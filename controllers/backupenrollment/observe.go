package backupenrollment

import (
	"context"
	"fmt"
	"slices"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/details"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/retention"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/veleroobjects"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
)

const (
	// maxBackups is how many Backups of an enrollment are watched: a year of daily ones, and room for others. By their size
	// it may be fewer.
	maxBackups = 500
	// maxLocations is how many objects of Daytwo's are watched of each kind, one for each policy in the cluster.
	maxLocations = 100
)

// extra is what is found out in one reconcile beside the objects.
type extra struct {
	// version of the credentials in the management cluster; empty if there are none.
	version string
	// password is what is seen of the password of Velero's repositories.
	password seenPassword
	// arranged is what was declared; nil if nothing was.
	arranged *backupv1alpha1.VeleroObjects
	// template of the backups, if it was declared.
	template map[string]any
	// velero is what is seen of Velero in the cluster; nil if nothing was made for it yet.
	velero *seen
	// proof is what drills showed.
	proof proof
	// drillsMade: the drills that are due were made.
	drillsMade bool
	// request is the backup that somebody asked for, and has not ended; nil for none.
	request *requested
	// retention is which backups stay, and which are deleted.
	retention retention.Plan
	// policies are the names of the Schedules of other policies in the cluster.
	policies []string
	// minting is how temporary credentials stand.
	minting minting
	// storage is what probes showed.
	storage storage
	// server is what Velero says of itself.
	server server
	// reading is what the bucket tells of backups.
	reading details.Plan
	// purge is the deletion of all backups with the enrollment; nil if they stay, or are gone.
	purge *purge
	// caughtUp is the backup that is made in the place of one that failed or was missed, and has not ended; nil for none.
	caughtUp *caughtUp
	// catchUpAt is when to look again whether a start was missed; zero for never.
	catchUpAt time.Time
}

// seen is what watches show of Velero's objects.
type seen struct {
	// missing: the cluster does not serve Velero's kinds any more.
	missing bool
	// pending: some of them were not listed yet. unknown is why some cannot be; empty if all can.
	pending bool
	unknown string
	// location and schedule are nil while they are not known.
	location, schedule *unstructured.Unstructured
	// schedules are those of all policies, as far as the cluster says so.
	schedules []*unstructured.Unstructured
	// deletions are the DeleteBackupRequests that Daytwo made.
	backups, deletions, namespaces fleet.Observed
}

// ObserveHere implements target.StagedKind.
func (r *Reconciler) ObserveHere(ctx context.Context, o *observation) error {
	var err error
	o.Extra.proof, err = r.proofOf(ctx, o)
	return err
}

// Observe implements target.StagedKind.
func (r *Reconciler) Observe(ctx context.Context, o *observation, cluster *fleet.Cluster) error {
	if !o.Target.DeletionTimestamp.IsZero() {
		return r.observePurge(ctx, o, cluster)
	}
	var err error
	if o.Extra.version, err = credentialsVersion(ctx, r.Room.Client, o.Target); err != nil {
		return err
	}
	if o.Extra.password, err = r.observePassword(ctx, o); err != nil {
		return err
	}
	if o.Extra.minting, err = r.mint(ctx, o, cluster.ID); err != nil || o.Status.Velero == nil {
		return err
	}
	if o.Extra.velero, err = r.observeVelero(ctx, o, cluster); err != nil {
		return err
	}
	if o.Extra.policies, err = r.otherPolicies(ctx, o); err != nil {
		return err
	}
	o.Extra.reading = r.readDetails(o)
	o.Extra.storage = r.probeStorage(o)
	o.Extra.server = r.askServer(o, cluster)
	o.Extra.request = requestOf(o, cluster.ID)
	o.Extra.caughtUp, o.Extra.catchUpAt = catchUpOf(o, cluster.ID)
	o.Extra.retention = retentionOf(o)
	return nil
}

// observePurge looks at what an enrollment that is deleted needs to see.
func (r *Reconciler) observePurge(ctx context.Context, o *observation, cluster *fleet.Cluster) error {
	r.forgetTasks(o)
	if !isPurged(o) {
		cluster.RetainObservations(r.Room.Owner(o.Target), func(fleet.Selection) bool { return false })
		return nil
	}
	var err error
	if o.Extra.velero, err = r.observeVelero(ctx, o, cluster); err != nil {
		return err
	}
	o.Extra.purge = purgeOf(o)
	return nil
}

func (r *Reconciler) observeVelero(ctx context.Context, o *observation, cluster *fleet.Cluster) (*seen, error) {
	owner, own := r.Room.Owner(o.Target), o.Status.Velero
	ours, itsOwn := metav1alpha1.LabelManagedBy+"="+r.Installation, metav1alpha1.LabelBackup+"="+own.Name
	found := map[schema.GroupVersionKind]fleet.Observed{}
	selections := map[fleet.Selection]bool{}
	shown := &seen{}
	for _, selection := range []fleet.Selection{
		{Kind: veleroobjects.BackupKind, Namespace: own.Namespace, Selector: itsOwn, Limit: maxBackups, Omit: "spec"},
		// There are few, so one watch does for all policies in the cluster.
		{Kind: veleroobjects.DeletionKind, Namespace: own.Namespace, Selector: metav1alpha1.LabelBackup, Limit: maxBackups},
		{Kind: veleroobjects.LocationKind, Namespace: own.Namespace, Selector: ours, Limit: maxLocations},
		{Kind: veleroobjects.ScheduleKind, Namespace: own.Namespace, Selector: ours, Limit: maxLocations},
	} {
		observed, err := cluster.Observe(ctx, owner, selection)
		if meta.IsNoMatchError(err) {
			return &seen{missing: true}, nil
		}
		if err != nil {
			return nil, err
		}
		found[selection.Kind], selections[selection] = observed, true
		shown.pending = shown.pending || observed.Pending()
		if observed.Unknown != "" {
			shown.unknown = fmt.Sprintf("%ss cannot be watched: %s", selection.Kind.Kind, observed.Unknown)
		}
	}
	var err error
	if shown.namespaces, err = cluster.Observe(ctx, owner, allNamespaces); err != nil {
		return nil, err
	}
	selections[allNamespaces] = true
	cluster.RetainObservations(owner, func(selection fleet.Selection) bool { return selections[selection] })
	shown.backups, shown.deletions = found[veleroobjects.BackupKind], found[veleroobjects.DeletionKind]
	shown.deletions.Objects = slices.DeleteFunc(slices.Clone(shown.deletions.Objects), func(request *unstructured.Unstructured) bool {
		return request.GetLabels()[metav1alpha1.LabelBackup] != own.Name
	})
	shown.schedules = found[veleroobjects.ScheduleKind].Objects
	shown.location, shown.schedule = named(found[veleroobjects.LocationKind].Objects, own.Name), named(found[veleroobjects.ScheduleKind].Objects, own.Name)
	return shown, nil
}

func named(list []*unstructured.Unstructured, name string) *unstructured.Unstructured {
	for _, object := range list {
		if object.GetName() == name {
			return object
		}
	}
	return nil
}

// NeedsDesired implements target.StagedKind: credentials or the password of repositories were renewed, the clock of the time zone was set, a blackout
// opens or closes, or a backup is to be made.
func (r *Reconciler) NeedsDesired(o *observation) bool {
	own := o.Status.Velero
	if o.Extra.makesBackup() || len(o.Extra.proof.Due) > 0 {
		return true
	}
	return own == nil || own.CredentialsVersion != o.Extra.version || o.Extra.password.isDue(own) || own.Until != nil && !o.Now.Before(own.Until.Time) ||
		validationFrequency(o) != frequencyOf(own) || needsPause(o)
}

// frequencyOf is how often Velero looks at the storage.
func frequencyOf(own *backupv1alpha1.VeleroObjects) time.Duration {
	if own == nil || own.ValidationFrequency == nil {
		return veleroobjects.ValidateEvery
	}
	return own.ValidationFrequency.Duration
}

// validationFrequency is how often Velero is to look at the storage. A change makes it look at once, so storage that comes
// and goes changes it back after some time only.
func validationFrequency(o *observation) time.Duration {
	if o.Extra.velero != nil && veleroobjects.PhaseOf(o.Extra.velero.location) == string(velerov1.BackupStorageLocationPhaseUnavailable) {
		return veleroobjects.ValidateBroken
	}
	if at := trustedAt(o); !at.IsZero() && !o.Now.Before(at) {
		return veleroobjects.ValidateEvery
	}
	return frequencyOf(o.Status.Velero)
}

// trustedAt is when storage that can be used has been usable for long enough; zero if it cannot be used.
func trustedAt(o *observation) time.Time {
	available := meta.FindStatusCondition(o.Status.Conditions, backupv1alpha1.ConditionStorageAvailable)
	if available == nil || available.Status != metav1.ConditionTrue {
		return time.Time{}
	}
	return available.LastTransitionTime.Add(veleroobjects.ValidateEvery)
}
