package backupenrollment

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/veleroobjects"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/bounded"
)

// maxNamespaces is how many namespaces of a cluster are watched.
const maxNamespaces = bounded.MaxListed

// allNamespaces of a cluster: their names and labels are what counts.
var allNamespaces = fleet.Selection{
	Kind: schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, Limit: maxNamespaces, Omit: "spec",
}

// otherPolicies are the names of the Schedules that Daytwo made for other policies in the cluster of an enrollment. A Schedule
// says of itself that it is Daytwo's, which anybody in the cluster can write: what the management cluster knows of counts.
func (r *Reconciler) otherPolicies(ctx context.Context, o *observation) ([]string, error) {
	if len(o.Extra.velero.schedules) < 2 { // Its own, and no other.
		return nil, nil
	}
	list, cluster := &backupv1alpha1.BackupEnrollmentList{}, o.Target.Spec.ClusterRef
	err := r.Room.Client.List(ctx, list, client.UnsafeDisableDeepCopy, client.MatchingLabels{
		metav1alpha1.LabelCluster: cluster.Name, metav1alpha1.LabelClusterNamespace: cluster.Namespace,
	})
	if err != nil {
		return nil, fmt.Errorf("list the other BackupEnrollments of TenantCluster %s/%s: %w", cluster.Namespace, cluster.Name, err)
	}
	var names []string
	for i := range list.Items {
		one := &list.Items[i]
		if one.UID != o.Target.UID && one.DeletionTimestamp.IsZero() {
			names = append(names, veleroobjects.NameFor(veleroobjects.PolicyOf(one)))
		}
	}
	return names, nil
}
