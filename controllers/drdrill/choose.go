package drdrill

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/backupstore"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/plural"
	"github.com/daytwo-dev/daytwo/controllers/internal/recovery"
)

// maxLeftOut is how many resources a status tells of that were left out.
const maxLeftOut = 256

// choose is the task that chooses a backup, and reads from its archive what there is to restore.
func (r *Reconciler) choose(ctx context.Context, v view) (func(*backupv1alpha1.DRDrillStatus), error) {
	drill := v.Run
	if err := checkAssertions(drill.Spec.Verify.Assertions); err != nil {
		return nil, err
	}
	from, store, err := r.bucketOf(ctx, drill)
	if err != nil {
		return nil, err
	}
	backups, err := store.Backups(ctx)
	if err != nil {
		return nil, err
	}
	chosen, err := chooseBackup(drill, withVolumes(drill, backups, from.enrollment), from.enrollment.Spec, v.Now)
	if err != nil {
		return nil, err
	}
	found, err := listArchive(ctx, store, chosen.Name)
	if err != nil {
		return nil, err
	}
	delete(found.namespaces, from.content.VeleroNamespace)
	namespaces, err := chooseNamespaces(drill, found.namespaces)
	if err != nil {
		return nil, err
	}
	resources := found.resourcesIn(namespaces)
	if restoresCluster(drill) {
		resources = slices.AppendSeq(resources, maps.Keys(found.cluster))
	}
	without := leftOut(resources, exposed(drill))
	if len(without) > maxLeftOut {
		return nil, mistaken("backup %s has %d resources that a drill leaves out, and at most %d are possible: name those that may be restored in spec.alsoRestore",
			chosen.Name, len(without), maxLeftOut)
	}
	return func(status *backupv1alpha1.DRDrillStatus) {
		own := from.enrollment.Status.Velero
		status.Source = &backupv1alpha1.DrillSource{
			Backup: chosen.Name, TakenAt: metav1.NewTime(chosen.StartedAt), Items: max(0, chosen.Items), Revision: from.enrollment.Spec.Revision,
			Prefix: own.Prefix, Location: own.Name, VeleroNamespace: from.content.VeleroNamespace,
			RepositoryPassword: from.enrollment.Spec.RepositoryPassword.DeepCopy(),
		}
		status.Namespaces, status.LeftOut = namespaces, without
		status.Objectives = objectivesOf(drill, from.enrollment)
		status.DataAge = &metav1.Duration{Duration: drill.Status.StartedAt.Sub(chosen.StartedAt).Truncate(time.Second)}
	}, nil
}

// objectivesOf a drill are its own, and for what it does not say those of the policy.
func objectivesOf(drill *backupv1alpha1.DRDrill, enrollment *backupv1alpha1.BackupEnrollment) backupv1alpha1.RecoveryObjectives {
	own, policy := drill.Spec.Objectives, enrollment.Spec.Objectives
	return backupv1alpha1.RecoveryObjectives{RPO: cmp.Or(own.RPO, policy.RPO), RTO: cmp.Or(own.RTO, policy.RTO)}
}

// chooseBackup chooses among the backups in the bucket, the latest of which is first.
func chooseBackup(drill *backupv1alpha1.DRDrill, backups []backupstore.Backup, standard backupv1alpha1.BackupEnrollmentSpec, now time.Time) (backupstore.Backup, error) {
	choice := drill.Spec.Backup
	if choice.Select == backupv1alpha1.BackupNamed {
		at := slices.IndexFunc(backups, func(one backupstore.Backup) bool { return one.Name == choice.Name })
		if at < 0 {
			return backupstore.Backup{}, mistaken("the bucket has no backup %s of this cluster: correct spec.backup.name of another drill", choice.Name)
		}
		if recovers(drill) { // Whoever names a backup on that day has no better one.
			standard.AcceptPartiallyFailed, standard.MinItems = true, nil
		}
		if why := whyUnusable(backups[at], standard); why != "" {
			return backupstore.Backup{}, refuse("backup %s cannot be restored: %s", choice.Name, why)
		}
		return backups[at], nil
	}
	usable := slices.DeleteFunc(slices.Clone(backups), func(one backupstore.Backup) bool {
		tooOld := choice.Select == backupv1alpha1.BackupRandom && choice.Within != nil && now.Sub(one.StartedAt) > choice.Within.Duration
		return tooOld || whyUnusable(one, standard) != ""
	})
	if len(usable) == 0 {
		return backupstore.Backup{}, refuse("none of the %d backups of this cluster can be restored: see the BackupEnrollment", len(backups))
	}
	switch choice.Select {
	case backupv1alpha1.BackupOldestUsable:
		return usable[len(usable)-1], nil
	case backupv1alpha1.BackupRandom:
		return usable[chance(drill.UID, "backup").IntN(len(usable))], nil
	case backupv1alpha1.BackupLatest, backupv1alpha1.BackupNamed:
	}
	return usable[0], nil
}

// whyUnusable says why a backup is not a good one; empty if it is.
func whyUnusable(backup backupstore.Backup, standard backupv1alpha1.BackupEnrollmentSpec) string {
	switch phase := velerov1.BackupPhase(backup.Phase); {
	case phase != velerov1.BackupPhaseCompleted && (phase != velerov1.BackupPhasePartiallyFailed || !standard.AcceptPartiallyFailed):
		return "it is " + string(phase)
	case backup.StartedAt.IsZero():
		return "it does not say when it started"
	case standard.MinItems != nil && backup.Items < int64(*standard.MinItems):
		return fmt.Sprintf("it has %s, and the policy's spec.minItems asks for %d", plural.Of(backup.Items, "object"), *standard.MinItems)
	}
	return ""
}

// chance is the same for a drill whenever it is asked.
func chance(drill types.UID, what string) *rand.Rand {
	return rand.New(rand.NewChaCha8(sha256.Sum256([]byte(string(drill) + "/" + what)))) //nolint:gosec // Nobody gains from guessing which backup is tried.
}

// archiveContents is what an archive has.
type archiveContents struct {
	// namespaces, each with the resources of its objects.
	namespaces map[string]map[schema.GroupResource]bool
	// cluster has the resources of objects without a namespace.
	cluster map[schema.GroupResource]bool
}

func (s archiveContents) resourcesIn(namespaces []backupv1alpha1.DrillNamespace) []schema.GroupResource {
	all := map[schema.GroupResource]bool{}
	for _, namespace := range namespaces {
		maps.Copy(all, s.namespaces[namespace.Name])
	}
	return slices.Collect(maps.Keys(all))
}

// listArchive reads an archive for what it has.
func listArchive(ctx context.Context, store *backupstore.Store, backup string) (archiveContents, error) {
	found := archiveContents{namespaces: map[string]map[schema.GroupResource]bool{}, cluster: map[schema.GroupResource]bool{}}
	err := readArchive(ctx, store, backup, func(item recovery.Item, _ *unstructured.Unstructured) error {
		if item.Namespace == "" {
			found.cluster[item.Resource] = true
			return nil
		}
		if found.namespaces[item.Namespace] == nil {
			found.namespaces[item.Namespace] = map[schema.GroupResource]bool{}
		}
		found.namespaces[item.Namespace][item.Resource] = true
		return nil
	})
	return found, err
}

// readArchive reads the objects of a backup. An archive that cannot be read as one, or is not there, is a Refusal: no other
// try would find a better one.
func readArchive(ctx context.Context, store *backupstore.Store, backup string, visit func(recovery.Item, *unstructured.Unstructured) error) error {
	archive, err := store.Archive(ctx, backup)
	if err != nil {
		return refuseIfUnreadable(err)
	}
	defer func() { _ = archive.Close() }() // Everything wanted of it was read.
	err = recovery.ReadArchive(archive, recovery.DefaultLimits(), visit)
	var broken *recovery.ArchiveError
	if errors.As(err, &broken) && ctx.Err() == nil {
		return refuse("the archive of backup %s: %s", backup, broken)
	}
	return err
}

// refuseIfUnreadable makes a Refusal of what is missing or damaged in the bucket.
func refuseIfUnreadable(err error) error {
	if backupstore.IsNotFound(err) || backupstore.IsUnreadable(err) {
		return refuse("%s", err)
	}
	return err
}

// chooseNamespaces says which namespaces are restored, and under which names, sorted.
func chooseNamespaces(drill *backupv1alpha1.DRDrill, archived map[string]map[schema.GroupResource]bool) ([]backupv1alpha1.DrillNamespace, error) {
	names, err := includedNamespaces(drill, archived)
	if err != nil {
		return nil, err
	}
	sample := int(*drill.Spec.Namespaces.Sample)
	switch {
	case len(names) == 0:
		return nil, refuse("the backup has no objects in namespaces, so there is nothing to restore")
	case recovers(drill) && len(names) > maxRecovered:
		return nil, mistaken("the backup has %d namespaces, and one recovery restores at most %d: name them in spec.namespaces.include of several", len(names), maxRecovered)
	case !recovers(drill) && len(names) > sample:
		chance(drill.UID, "namespaces").Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		names = slices.Sorted(slices.Values(names[:sample]))
	}
	chosen := make([]backupv1alpha1.DrillNamespace, len(names))
	for i, name := range names {
		chosen[i] = backupv1alpha1.DrillNamespace{Name: name, RestoredAs: name}
		if drill.Spec.Target.Mode == backupv1alpha1.DrillNamespaceMapped {
			chosen[i].RestoredAs = sandboxName(drill.UID, name)
		}
	}
	return chosen, nil
}

// includedNamespaces are those that a drill names, or else those that the backup has, sorted.
func includedNamespaces(drill *backupv1alpha1.DRDrill, archived map[string]map[schema.GroupResource]bool) ([]string, error) {
	wanted := drill.Spec.Namespaces.Include
	if len(wanted) == 0 {
		return slices.DeleteFunc(slices.Sorted(maps.Keys(archived)), func(name string) bool { return recovers(drill) && isOfTheCluster(name) }), nil
	}
	for _, name := range wanted {
		if archived[name] == nil {
			return nil, mistaken("the backup has nothing of namespace %s: correct spec.namespaces.include of another drill", name)
		}
	}
	return slices.Sorted(slices.Values(wanted)), nil
}

// maxNamespaceName is how long the name of a namespace may be, and maxReadable how much of the one in the backup is in it.
const (
	maxNamespaceName = 63
	maxReadable      = 48
)

// sandboxName is what a namespace is called that is restored beside the one that was backed up.
func sandboxName(drill types.UID, namespace string) string {
	return objects.ShortName(maxNamespaceName, namespace[:min(len(namespace), maxReadable)]+"-drill", string(drill)+"/"+namespace)
}
