package tenantcluster

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
)

// verdict says whether the connected cluster is one to work in.
type verdict struct {
	// reason of the condition IdentityConflict; empty while no cluster is connected.
	reason  string
	message string
	// identity of the connected cluster.
	identity types.UID
}

func (v verdict) confirmed() bool { return v.reason == tenancyv1alpha1.ReasonIdentityConfirmed }

func (v verdict) conflict() bool { return v.reason != "" && !v.confirmed() }

// identityChecks are the reasons not to work in a cluster. The first that applies counts.
var identityChecks = []func(observation) (reason, message string, violated bool){
	isManagementCluster,
	isHeldByAnother,
	isChanged,
}

// decideIdentity applies the checks to the connected cluster.
func decideIdentity(o observation) verdict {
	if o.link == nil || o.link.Phase != fleet.Connected {
		return verdict{}
	}
	for _, check := range identityChecks {
		if reason, message, violated := check(o); violated {
			return verdict{reason, message, o.link.Identity}
		}
	}
	return verdict{tenancyv1alpha1.ReasonIdentityConfirmed, "The cluster is the one on record.", o.link.Identity}
}

func isManagementCluster(o observation) (reason, message string, violated bool) {
	return tenancyv1alpha1.ReasonManagementCluster,
		"The kubeconfig leads to the management cluster, which only the provider may register: use the kubeconfig of a workload cluster",
		o.forbidden != "" && o.link.Identity == o.forbidden
}

// alreadyRegistered does not tell whose the cluster is.
const alreadyRegistered = "The kubeconfig leads to a cluster that is registered already: use the kubeconfig of another cluster, or have the earlier registration deleted"

func isHeldByAnother(o observation) (reason, message string, violated bool) {
	recorded := types.UID(o.cluster.Status.ClusterID) == o.link.Identity
	for i := range o.duplicates {
		if !recorded || precedes(&o.duplicates[i], o.cluster) {
			return tenancyv1alpha1.ReasonAlreadyRegistered, alreadyRegistered, true
		}
	}
	return "", "", false
}

// precedes decides between two that recorded the same identity at the same time.
func precedes(a, b *tenancyv1alpha1.TenantCluster) bool {
	if !a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.CreationTimestamp.Before(&b.CreationTimestamp)
	}
	return a.Namespace+"/"+a.Name < b.Namespace+"/"+b.Name
}

func isChanged(o observation) (reason, message string, violated bool) {
	recorded, identity := o.cluster.Status.ClusterID, string(o.link.Identity)
	if recorded == "" || recorded == identity || o.cluster.Annotations[metav1alpha1.AnnotationAcceptClusterID] == identity {
		return "", "", false
	}
	return tenancyv1alpha1.ReasonIdentityChanged, fmt.Sprintf(
		"The kubeconfig leads to cluster %s and led to %s before; nothing is written there. Correct the kubeconfig, "+
			"or have the provider accept the new cluster with the annotation %s: %s",
		identity, recorded, metav1alpha1.AnnotationAcceptClusterID, identity), true
}
