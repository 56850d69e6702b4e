package topology

import (
	"cmp"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
)

// Defaults of Options.
const (
	DefaultClusterNamespaceSuffix = "-clusters"
	DefaultClassNamespace         = "daytwo-classes"
)

// Options are what the provider decides for all orders.
type Options struct {
	// Installation marks the Clusters that Daytwo orders from Cluster API.
	Installation string
	// ClusterNamespaceSuffix is what the namespaces of Clusters have after the name of the customer's namespace; empty stands
	// for the default.
	ClusterNamespaceSuffix string
	// ClassNamespaces are those that ClusterClasses may be in. An order that names none takes the first one. None at all stands
	// for the default.
	ClassNamespaces []string
}

// Complete fills in the defaults.
func (o Options) Complete() Options {
	o.ClusterNamespaceSuffix = cmp.Or(o.ClusterNamespaceSuffix, DefaultClusterNamespaceSuffix)
	if len(o.ClassNamespaces) == 0 {
		o.ClassNamespaces = []string{DefaultClassNamespace}
	}
	return o
}

// ClusterNamespace is the namespace of the Clusters that are ordered in a customer's namespace. It may be longer than the name of
// a namespace can be, which Check tells.
func (o Options) ClusterNamespace(customer string) string { return customer + o.ClusterNamespaceSuffix }

// CustomerOf is the namespace whose Clusters are in a namespace of that name; false if it has not the name of such a one.
func (o Options) CustomerOf(namespace string) (customer string, found bool) {
	customer, found = strings.CutSuffix(namespace, o.ClusterNamespaceSuffix)
	return customer, found && customer != ""
}

// ClusterOf returns where the Cluster of a TenantCluster is: a Cluster on order in a namespace of the provider's, another one
// beside its TenantCluster. The zero value is for a TenantCluster that has no Cluster.
func (o Options) ClusterOf(tenant *tenancyv1alpha1.TenantCluster) types.NamespacedName {
	switch spec := tenant.Spec; {
	case spec.Topology != nil:
		return types.NamespacedName{Namespace: o.ClusterNamespace(tenant.Namespace), Name: tenant.Name}
	case spec.ClusterRef != nil:
		return types.NamespacedName{Namespace: tenant.Namespace, Name: spec.ClusterRef.Name}
	}
	return types.NamespacedName{}
}

// classNamespace is where the class of an order is looked for. The options are complete.
func (o Options) classNamespace(order *tenancyv1alpha1.ClusterTopology) string {
	return cmp.Or(order.ClassRef.Namespace, o.ClassNamespaces[0])
}
