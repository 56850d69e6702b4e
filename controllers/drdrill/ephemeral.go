package drdrill

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/run"
)

// +kubebuilder:rbac:groups=tenancy.daytwo.dev,resources=tenantclusters,verbs=get;list;watch;create;delete;confirm

// A drill in a cluster of its own orders a TenantCluster, restores into it as into a standby, and deletes it. The cluster has
// an owner reference to the drill, so that it goes with it in any case.

const (
	// maxClusterName leaves room for what Cluster API appends to the name of a Cluster.
	maxClusterName = 40
	// defaultLifetime is that of the definition of DRDrill.
	defaultLifetime = 6 * time.Hour
)

func isEphemeral(drill *backupv1alpha1.DRDrill) bool {
	return drill.Spec.Target.Mode == backupv1alpha1.DrillEphemeral
}

// ephemeralOf is what is asked of the cluster that is ordered.
func ephemeralOf(drill *backupv1alpha1.DRDrill) backupv1alpha1.EphemeralCluster {
	asked := backupv1alpha1.EphemeralCluster{}
	if drill.Spec.Target.Ephemeral != nil {
		asked = *drill.Spec.Target.Ephemeral
	}
	if asked.MaxLifetime == nil {
		asked.MaxLifetime = &metav1.Duration{Duration: defaultLifetime}
	}
	return asked
}

// ephemeralName is that of the cluster that is ordered for a drill.
func ephemeralName(drill *backupv1alpha1.DRDrill) string {
	return objects.ShortName(maxClusterName, "drill-"+strings.ReplaceAll(drill.Name, ".", "-"), string(drill.UID))
}

// isOrdered is whether the cluster of a drill is there, or was.
func isOrdered(drill *backupv1alpha1.DRDrill) bool {
	ordered := drill.Status.Task(taskOrder)
	return ordered != nil && ordered.Outcome == metav1alpha1.ActionSucceeded
}

// endOfLife is when the cluster of a drill goes at the latest; zero if none was ordered.
func endOfLife(drill *backupv1alpha1.DRDrill) time.Time {
	ordered := drill.Status.Task(taskOrder)
	if ordered == nil {
		return time.Time{}
	}
	return ordered.StartedAt.Add(ephemeralOf(drill).MaxLifetime.Duration)
}

// order is the task that orders the cluster.
func (r *Reconciler) order(ctx context.Context, drill *backupv1alpha1.DRDrill) error {
	from := &tenancyv1alpha1.TenantCluster{}
	if err := r.Room.Client.Get(ctx, run.Key(drill.Spec.ClusterRef), from); err != nil {
		if apierrors.IsNotFound(err) {
			return refuse("TenantCluster %s, which was backed up, is not there any more", run.Key(drill.Spec.ClusterRef))
		}
		return err
	}
	topology := ephemeralOf(drill).Topology
	if topology == nil {
		topology = from.Spec.Topology
	}
	if topology == nil {
		return refuse("TenantCluster %s was not ordered by Daytwo, so there is no topology to copy: set spec.target.ephemeral.topology", run.Key(drill.Spec.ClusterRef))
	}
	ordered := orderFor(drill, from, topology)
	err := r.Room.Client.Create(ctx, ordered)
	switch {
	case apierrors.IsInvalid(err), apierrors.IsForbidden(err):
		return refuse("TenantCluster %s/%s cannot be ordered: %s", ordered.Namespace, ordered.Name, err)
	case !apierrors.IsAlreadyExists(err):
		return err
	}
	_, err = r.ordered(ctx, drill)
	return err
}

// orderFor is the TenantCluster of a drill. It has the labels of the one that was backed up, as far as policies see it at all.
func orderFor(drill *backupv1alpha1.DRDrill, from *tenancyv1alpha1.TenantCluster, topology *tenancyv1alpha1.ClusterTopology) *tenancyv1alpha1.TenantCluster {
	labels := map[string]string{}
	for key, value := range from.Labels {
		if !strings.HasPrefix(key, "daytwo.dev/") {
			labels[key] = value
		}
	}
	maps.Copy(labels, map[string]string{metav1alpha1.LabelDrillCluster: drill.Name})
	var openTo []string
	for _, addon := range ephemeralOf(drill).Addons {
		openTo = append(openTo, "SaaSAddon/"+addon)
	}
	slices.Sort(openTo)
	return &tenancyv1alpha1.TenantCluster{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: drill.Namespace, Name: ephemeralName(drill), Labels: labels,
			Annotations:     map[string]string{metav1alpha1.AnnotationOpenTo: strings.Join(openTo, ",")},
			OwnerReferences: []metav1.OwnerReference{ownerOf(drill)},
		},
		Spec: tenancyv1alpha1.TenantClusterSpec{Topology: topology.DeepCopy()},
	}
}

func ownerOf(drill *backupv1alpha1.DRDrill) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: backupv1alpha1.GroupVersion.String(), Kind: "DRDrill", Name: drill.Name, UID: drill.UID, Controller: ptr.To(true),
	}
}

// ordered reads the TenantCluster of a drill; nil if there is none. One of that name that is somebody else's is refused.
func (r *Reconciler) ordered(ctx context.Context, drill *backupv1alpha1.DRDrill) (*tenancyv1alpha1.TenantCluster, error) {
	found := &tenancyv1alpha1.TenantCluster{}
	err := r.Room.APIReader.Get(ctx, types.NamespacedName{Namespace: drill.Namespace, Name: ephemeralName(drill)}, found)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, err
	case !metav1.IsControlledBy(found, drill):
		return nil, refuse("TenantCluster %s/%s is there already, and is not of this drill", found.Namespace, found.Name)
	}
	return found, nil
}

// Remove implements run.RemovingKind: it deletes the cluster that was ordered, which goes by the deletion of TenantClusters
// from there.
func (r *Reconciler) Remove(ctx context.Context, drill *backupv1alpha1.DRDrill) error {
	if drill.Status.Task(taskOrder) == nil {
		return nil
	}
	found, err := r.ordered(ctx, drill)
	if err != nil || found == nil {
		return ignoreRefusal(err)
	}
	err = r.Room.Client.Delete(ctx, found, client.Preconditions{UID: &found.UID})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete TenantCluster %s/%s of the drill: %w", found.Namespace, found.Name, err)
	}
	return nil
}
