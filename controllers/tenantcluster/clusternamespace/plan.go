package clusternamespace

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/topology"
)

// observation of one namespace of a customer's, and of the one for its Clusters.
type observation struct {
	// name of the customer's namespace.
	name string
	// owner and found are nil where they are not there.
	owner, found *metav1.PartialObjectMetadata
	// ordering: a TenantCluster wants a Cluster. remaining: one has an order, and may be on its way out.
	ordering, remaining bool
	// clusters: there are Clusters of Cluster API in the customer's own namespace.
	clusters bool
	options  topology.Options
}

// plan is what is to be done.
type plan struct {
	create *corev1.Namespace
	// label the customer's namespace.
	label bool
	// bind the role that reads Secrets, where the manager does not read all.
	bind bool
	// remove the namespace, if the API server says that it is empty.
	remove bool
}

// newPlan is pure.
func newPlan(o observation) plan {
	return plan{
		create: planCreation(o), label: o.clusters && o.owner != nil && o.owner.Labels[metav1alpha1.LabelHoldsClusters] == "",
		bind: stateOf(o.owner, o.found, o.options.Installation) == Ready, remove: planRemoval(o),
	}
}

func planCreation(o observation) *corev1.Namespace {
	name := o.options.ClusterNamespace(o.name)
	if !o.ordering || o.found != nil || o.owner == nil || !o.owner.DeletionTimestamp.IsZero() || len(name) > validation.DNS1123LabelMaxLength {
		return nil
	}
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
		metav1alpha1.LabelManagedBy:     o.options.Installation,
		metav1alpha1.LabelClustersOf:    string(o.owner.UID),
		metav1alpha1.LabelHoldsClusters: "true",
	}}}
}

// planRemoval removes the namespace when its customer has no order any more, or when the customer's own namespace is gone or was
// made anew.
func planRemoval(o observation) bool {
	if o.found == nil || !isOf(o.found, o.options.Installation) || !o.found.DeletionTimestamp.IsZero() {
		return false
	}
	return !o.remaining || !belongsTo(o.found, o.owner)
}
