package issuing

import (
	"k8s.io/apimachinery/pkg/types"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/certificatebundle/authority"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
)

// Issuer is the authority of a bundle with spec.ca that a certificate is issued from. The zero value is none.
type Issuer struct {
	Generation int64
	// Anchor is authority.AnchorOf its certificate.
	Anchor string
}

// Issuers are the authorities that the certificates of a bundle are issued from: those of In in their clusters, and Everywhere in others.
type Issuers struct {
	Everywhere Issuer
	In         map[rollout.ClusterKey]Issuer
}

func (i Issuers) of(cluster rollout.ClusterKey) Issuer {
	if issuer, named := i.In[cluster]; named {
		return issuer
	}
	return i.Everywhere
}

// Reference names the Issuer of cert-manager.
func (i Issuer) Reference(bundle string) certificatesv1alpha1.IssuerReference {
	return certificatesv1alpha1.IssuerReference{Kind: "Issuer", Name: authority.Name(bundle, i.Generation)}
}

// Assign has the certificates of a bundle with spec.ca issued from these authorities from now on. Until then none is asked for.
func (r *Reconciler) Assign(bundle types.NamespacedName, issuers Issuers) {
	for _, cluster := range r.states.assign(bundle, issuers) {
		r.ask(Key{Bundle: bundle, Cluster: cluster})
	}
}
