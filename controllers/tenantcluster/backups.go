package tenantcluster

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/deletion"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/topology"
)

// +kubebuilder:rbac:groups=backup.daytwo.dev,resources=backupenrollments,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=backup.daytwo.dev,resources=drdrills,verbs=list

// drillKind is that of who tests recoveries. It may not be installed, so nobody watches it.
var drillKind = schema.GroupVersionKind{Group: "backup.daytwo.dev", Version: "v1alpha1", Kind: "DRDrill"}

// labelsOf what works for a cluster.
func labelsOf(cluster types.NamespacedName) client.MatchingLabels {
	return client.MatchingLabels{metav1alpha1.LabelCluster: cluster.Name, metav1alpha1.LabelClusterNamespace: cluster.Namespace}
}

// listInstalled lists what there is of a kind for a cluster; installed is false if there is no such kind.
func (r *reconciler) listInstalled(ctx context.Context, kind schema.GroupVersionKind, key types.NamespacedName) (items []unstructured.Unstructured, installed bool, err error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	err = r.live.List(ctx, list, labelsOf(key))
	if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) { // The latter where it was installed once.
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("list %ss: %w", kind.Kind, err)
	}
	return list.Items, true, nil
}

// latestBackup looks how old the data of the newest good backup of a cluster is.
func (r *reconciler) latestBackup(ctx context.Context, key types.NamespacedName) (topology.Backup, error) {
	members, err := r.targets.In(ctx, r.client, key)
	var newest topology.Backup
	for _, member := range members {
		if backup := member.Backup; backup != nil && backup.DataOf.After(newest.Latest) {
			newest.Latest = backup.DataOf
		}
	}
	return newest, err
}

// listBackups reads who is to make the last backup. Those who are leaving themselves will not.
func (r *reconciler) listBackups(ctx context.Context, key types.NamespacedName) ([]deletion.Enrollment, error) {
	members, err := r.targets.In(ctx, r.client, key)
	var found []deletion.Enrollment
	for _, member := range members {
		if backup := member.Backup; backup != nil && member.RemovedSince.IsZero() {
			found = append(found, deletion.Enrollment{
				NamespacedName: member.Key(), Kind: member.Kind.GroupVersionKind, LastSuccess: backup.DataOf,
				Requested: backup.Requested, Answered: backup.Answered, Problem: backup.Problem,
			})
		}
	}
	return found, err
}

// listDrills names the drills that are under way in a cluster.
func (r *reconciler) listDrills(ctx context.Context, key types.NamespacedName) ([]string, error) {
	drills, _, err := r.listInstalled(ctx, drillKind, key)
	var names []string
	for i := range drills {
		if isReconciling(&drills[i]) {
			names = append(names, fmt.Sprintf("%s %s/%s", drillKind.Kind, drills[i].GetNamespace(), drills[i].GetName()))
		}
	}
	return names, err
}

// isReconciling reads the condition that every kind of Daytwo's has while work is under way.
func isReconciling(object *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, one := range conditions {
		condition, ok := one.(map[string]any)
		if ok && condition["type"] == metav1alpha1.ConditionReconciling && condition["status"] == "True" {
			return true
		}
	}
	return false
}
