package rollout

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/times"
)

// maxConfirmation is how much of a confirmation tells one from another, in bytes: enough for any namespace and number. The API says
// the same.
const maxConfirmation = 80

// group is the withdrawals about which a guard decides together: in a shared policy, those through the deletion of TenantClusters of
// one namespace, and all others. So what one customer deletes holds back nobody else's.
type group struct {
	// namespace whose TenantClusters are deleted; empty for the policy's own group.
	namespace string
	// targets that are to go, in order.
	targets []*Target
	// has is how many clusters the policy has, apart from those of other groups; of the namespace alone, if there is one.
	has int
	// confirmation is what the annotation says of the group; empty for nothing.
	confirmation string
}

// groups of the targets that are to go. There is one of the policy in any case, and those of which something is on record or confirmed.
func (in *Input) groups(wanted []*Target) []group {
	if !in.Policy.Shared {
		return []group{{targets: wanted, has: in.has(), confirmation: cut(in.Policy.Confirmation)}}
	}
	confirmed := in.confirmations()
	names := sets.New(namespacesIn(in.Withdrawals)...)
	for namespace := range confirmed {
		names.Insert(namespace)
	}
	deleted := in.deletedClusters()
	byNamespace := map[string][]*Target{}
	for _, target := range wanted {
		namespace := ""
		if target.ClusterGone || deleted.Has(target.Cluster) {
			namespace = target.Cluster.Namespace
		}
		byNamespace[namespace] = append(byNamespace[namespace], target)
		names.Insert(namespace)
	}
	has := in.hasByNamespace(byNamespace)
	groups := make([]group, 0, len(names))
	for _, namespace := range sets.List(names) {
		groups = append(groups, group{
			namespace: namespace, targets: byNamespace[namespace], has: has[namespace], confirmation: confirmed[namespace],
		})
	}
	return groups
}

// deletedClusters are the TenantClusters that are being deleted and whose target is to go.
func (in *Input) deletedClusters() sets.Set[ClusterKey] {
	deleted := sets.New[ClusterKey]()
	for i := range in.Clusters {
		if in.Clusters[i].loses() {
			deleted.Insert(in.Clusters[i].ClusterKey)
		}
	}
	return deleted
}

// hasByNamespace counts the clusters of the policy. A cluster that stays counts for its namespace and, as "", for the policy. A cluster
// that goes counts for its group alone.
func (in *Input) hasByNamespace(leaving map[string][]*Target) map[string]int {
	has, leaves := map[string]int{}, sets.New[string]()
	for namespace, targets := range leaving {
		has[namespace] += len(targets)
		for _, target := range targets {
			leaves.Insert(target.Name)
		}
	}
	for i := range in.Targets {
		if target := &in.Targets[i]; !target.Deleting && !leaves.Has(target.Name) {
			has[target.Cluster.Namespace]++
			has[""]++
		}
	}
	return has
}

// confirmations are the parts of the annotation: a number for the policy's group, <namespace>=<number> for another, separated by
// commas.
func (in *Input) confirmations() map[string]string {
	confirmed := map[string]string{}
	for part := range strings.SplitSeq(in.Policy.Confirmation, ",") {
		namespace, _, isOfNamespace := strings.Cut(part, "=")
		if !isOfNamespace {
			namespace = ""
		}
		if _, known := confirmed[namespace]; !known && part != "" && len(namespace) <= validation.DNS1123LabelMaxLength {
			confirmed[namespace] = cut(part)
		}
	}
	return confirmed
}

// cut is the start of a confirmation, as it is kept in a record.
func cut(confirmation string) string {
	return strings.ToValidUTF8(confirmation[:min(len(confirmation), maxConfirmation)], "")
}

// isRecordFull is whether there is no room for the counts of another namespace.
func isRecordFull(record metav1alpha1.WithdrawalRecord, namespace string) bool {
	_, known := findNamespace(record, namespace)
	return namespace != "" && !known && len(record.Namespaces) >= maxRecordedNamespaces
}

// roomAt is when the first of the namespaces is forgotten; zero if none is by itself.
func roomAt(record metav1alpha1.WithdrawalRecord) (at time.Time) {
	for i := range record.Namespaces {
		c := countsOf(record, record.Namespaces[i].Namespace)
		if len(c.Recent) == 0 || c.Underway != nil || c.SpentConfirmation != "" {
			continue
		}
		at = times.Earliest(at, c.endOf(c.Recent[len(c.Recent)-1]))
	}
	return at
}
