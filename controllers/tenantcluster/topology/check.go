package topology

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
)

// Problem is why an order is not carried out, before anybody else is asked.
type Problem struct {
	// Reason of conditions.
	Reason string
	// Field of the TenantCluster.
	Field string
	// Message tells the way out.
	Message string
}

// Check returns what an order may not say; nil if there is nothing.
func (o Options) Check(tenant *tenancyv1alpha1.TenantCluster) *Problem {
	order := tenant.Spec.Topology
	if namespace := o.ClusterNamespace(tenant.Namespace); len(namespace) > validation.DNS1123LabelMaxLength {
		return &Problem{tenancyv1alpha1.ReasonNamespaceNameTooLong, "metadata.namespace", fmt.Sprintf(
			"namespace %s, in which the Cluster would be made, has a name of more than %d characters: order clusters in a namespace whose "+
				"name has at most %d", namespace, validation.DNS1123LabelMaxLength, validation.DNS1123LabelMaxLength-len(o.ClusterNamespaceSuffix))}
	}
	if namespace := o.classNamespace(order); !slices.Contains(o.ClassNamespaces, namespace) {
		return &Problem{tenancyv1alpha1.ReasonClassNotAllowed, "spec.topology.classRef.namespace", fmt.Sprintf(
			"ClusterClasses come from the namespaces that the manager's --class-namespaces lists (%s), and not from %s: name a class in one of these",
			strings.Join(o.ClassNamespaces, ", "), namespace)}
	}
	return checkMetadata(order)
}

// checkMetadata finds a label or annotation that is not passed on.
func checkMetadata(order *tenancyv1alpha1.ClusterTopology) *Problem {
	if found := reservedIn("spec.topology.metadata", order.Metadata); found != nil {
		return found
	}
	if found := reservedIn("spec.topology.controlPlane.metadata", order.ControlPlane.Metadata); found != nil {
		return found
	}
	for i, pool := range order.Workers {
		if found := reservedIn(fmt.Sprintf("spec.topology.workers[%d].metadata", i), pool.Metadata); found != nil {
			return found
		}
	}
	return nil
}

func reservedIn(field string, metadata tenancyv1alpha1.TopologyMetadata) *Problem {
	for _, part := range []struct {
		name string
		of   map[string]string
	}{{"labels", metadata.Labels}, {"annotations", metadata.Annotations}} {
		for _, key := range slices.Sorted(maps.Keys(part.of)) {
			if isReserved(key) {
				return &Problem{tenancyv1alpha1.ReasonMetadataNotAllowed, field + "." + part.name, fmt.Sprintf(
					"%s is not passed on: keys below cluster.x-k8s.io, daytwo.dev and their subdomains are instructions to Cluster API and to Daytwo; use a key of your own", key)}
			}
		}
	}
	return nil
}

// isReserved knows the labels and annotations by which Cluster API, its providers and Daytwo are told what to do.
func isReserved(key string) bool {
	domain, _, prefixed := strings.Cut(key, "/")
	return prefixed && slices.ContainsFunc([]string{"cluster.x-k8s.io", "daytwo.dev"}, func(reserved string) bool {
		return domain == reserved || strings.HasSuffix(domain, "."+reserved)
	})
}
