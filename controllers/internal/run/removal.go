package run

import (
	"cmp"
	"context"
	"fmt"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/action"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

// remove removes the object of an action, or records that it stays. It returns why it is not done yet; empty if it is.
func (r *Reconciler[R, S]) remove(ctx context.Context, o observation[R, S], a metav1alpha1.Action) (awaits string, err error) {
	name := a.Object
	if ref, err := objects.ParseID(a.Object); err == nil {
		name = ref.String()
	}
	view := o.clusters[Key(a.ClusterRef)]
	switch {
	case r.Kind.Keeps(o.Run, a):
		return "", nil
	case view == nil:
		return "", fmt.Errorf("remove %s: %s is none of the clusters of the run", name, clusterName(a.ClusterRef))
	case view.cluster != nil && string(view.ClusterID) != a.ClusterID:
		return "", r.recordOrphan(ctx, o, a, tenancyv1alpha1.OrphanReplaced, "the provider accepted another cluster in its place")
	case view.IsClusterDeleted():
		return "", nil
	case view.IsAbandoned():
		return "", r.recordOrphan(ctx, o, a, tenancyv1alpha1.OrphanAbandoned, "the run was abandoned: "+view.Unreachable)
	case view.IsGivenUp():
		return "", r.recordOrphan(ctx, o, a, tenancyv1alpha1.OrphanUnreachable, "the object could not be removed before the deletion was due: "+view.Unreachable)
	case view.cluster == nil:
		return fmt.Sprintf("%s is not removed yet: %s%s", name, cmp.Or(view.Unreachable, "waits for "+clusterName(a.ClusterRef)), whatToDo(view)), nil
	}
	gone, err := action.Remove(ctx, view.cluster, o.owner, a)
	if err != nil || gone {
		return "", err
	}
	return name + " is being removed", nil
}

// whatToDo says how a cluster that does not answer holds up nobody.
func whatToDo(view *clusterView) string {
	if view.Unreachable == "" {
		return ""
	}
	return "; the annotation " + metav1alpha1.AnnotationAbandon + `: "true" leaves it there` + view.GivenUpWhen()
}

func (r *Reconciler[R, S]) recordOrphan(ctx context.Context, o observation[R, S], a metav1alpha1.Action, reason tenancyv1alpha1.OrphanReason, message string) error {
	kind, err := r.Client.GroupVersionKindFor(o.Run)
	if err != nil {
		return err
	}
	return r.Orphans.Write(ctx, a.ClusterRef.Namespace, tenancyv1alpha1.OrphanRecordSpec{
		ClusterName: a.ClusterRef.Name, ClusterID: a.ClusterID, Reason: reason, Message: message,
		Owner:   tenancyv1alpha1.OrphanOwner{Group: kind.Group, Kind: kind.Kind, Namespace: o.Run.GetNamespace(), Name: o.Run.GetName()},
		Objects: []tenancyv1alpha1.OrphanObject{{ID: a.Object, UID: a.UID}},
	})
}
