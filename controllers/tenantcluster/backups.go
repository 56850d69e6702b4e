package tenantcluster

import (
	"context"
	"fmt"
	"time"

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

// +kubebuilder:rbac:groups=backup.daytwo.dev,resources=backupenrollments,verbs=list;patch
// +kubebuilder:rbac:groups=backup.daytwo.dev,resources=drdrills,verbs=list

// Kinds of who makes backups and tests recoveries. They may not be installed, so nobody watches them.
var (
	enrollmentKind = schema.GroupVersionKind{Group: "backup.daytwo.dev", Version: "v1alpha1", Kind: "BackupEnrollment"}
	drillKind      = schema.GroupVersionKind{Group: "backup.daytwo.dev", Version: "v1alpha1", Kind: "DRDrill"}
)

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

// latestBackup reads BackupEnrollments, if that kind is installed: their status.lastSuccessfulTime.
func (r *reconciler) latestBackup(ctx context.Context, key types.NamespacedName) (topology.Backup, error) {
	enrollments, installed, err := r.listInstalled(ctx, enrollmentKind, key)
	if err != nil {
		return topology.Backup{}, err
	}
	if !installed {
		return topology.Backup{Unknown: "the kind BackupEnrollment is not installed, so nobody backs the cluster up"}, nil
	}
	var newest topology.Backup
	for i := range enrollments {
		if at := lastSuccess(&enrollments[i]); at.After(newest.Latest) {
			newest.Latest = at
		}
	}
	return newest, nil
}

// listBackups reads who is to make the last backup. Those who are leaving themselves will not.
func (r *reconciler) listBackups(ctx context.Context, key types.NamespacedName) (deletion.Backups, error) {
	enrollments, installed, err := r.listInstalled(ctx, enrollmentKind, key)
	found := deletion.Backups{NotInstalled: !installed}
	for i := range enrollments {
		if enrollments[i].GetDeletionTimestamp() != nil {
			continue
		}
		found.Enrollments = append(found.Enrollments, deletion.Enrollment{
			NamespacedName: types.NamespacedName{Namespace: enrollments[i].GetNamespace(), Name: enrollments[i].GetName()},
			LastSuccess:    lastSuccess(&enrollments[i]),
			Requested:      enrollments[i].GetAnnotations()[metav1alpha1.AnnotationRequestedAt],
		})
	}
	return found, err
}

// lastSuccess is zero if there was none, or none that can be read.
func lastSuccess(enrollment *unstructured.Unstructured) time.Time {
	value, _, _ := unstructured.NestedString(enrollment.Object, "status", "lastSuccessfulTime")
	at, err := time.Parse(time.RFC3339, value)
	if err != nil {
		return time.Time{}
	}
	return at
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
