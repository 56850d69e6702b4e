package orphans

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
)

// OfCluster lists the records of a cluster, the oldest first: those of its name, as a TenantCluster of that name may have had
// another cluster, and those of its identity, as the cluster may have had another name. They must not be changed, as they
// are the cache's own where the reader is one.
func OfCluster(ctx context.Context, reader client.Reader, cluster *tenancyv1alpha1.TenantCluster) ([]tenancyv1alpha1.OrphanRecord, error) {
	records := &tenancyv1alpha1.OrphanRecordList{}
	if err := reader.List(ctx, records, client.InNamespace(cluster.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list OrphanRecords: %w", err)
	}
	var found []tenancyv1alpha1.OrphanRecord
	for i := range records.Items {
		left := &records.Items[i].Spec
		if left.ClusterName == cluster.Name || left.ClusterID != "" && left.ClusterID == cluster.Status.ClusterID {
			found = append(found, records.Items[i])
		}
	}
	slices.SortFunc(found, ByAge)
	return found, nil
}

// Message says what to do about the records of a cluster before it tells of the first three, as long messages are cut.
func Message(records []tenancyv1alpha1.OrphanRecord) string {
	const shown = 3
	var text strings.Builder
	fmt.Fprintf(&text, "what may remain of this cluster is in %d OrphanRecords of this namespace: deal with it, then delete them", len(records))
	for i := range records[:min(len(records), shown)] {
		left := &records[i].Spec
		fmt.Fprintf(&text, "; %s: %s %s/%s: %s", records[i].Name, left.Owner.Kind, left.Owner.Namespace, left.Owner.Name, left.Message)
	}
	if more := len(records) - shown; more > 0 {
		fmt.Fprintf(&text, "; and %d more", more)
	}
	return text.String()
}
