package certificatebundle

import (
	"fmt"
	"slices"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/certificatecontent"
	"github.com/daytwo-dev/daytwo/controllers/internal/clustertemplate"
	"github.com/daytwo-dev/daytwo/controllers/internal/issuance"
	"github.com/daytwo-dev/daytwo/controllers/internal/namepattern"
)

// signerOf is the signerName of the requests that a bundle answers; empty for none. Each name of a bundle makes a valid one.
func signerOf(bundle *certificatesv1alpha1.CertificateBundle) string {
	if bundle.Spec.Mode != certificatesv1alpha1.ModeRelay {
		return ""
	}
	return certificatesv1alpha1.SignerDomain + bundle.Name
}

// relayOf is what a bundle answers requests by; nil if it answers none.
func relayOf(bundle *certificatesv1alpha1.CertificateBundle) *certificatecontent.Relay {
	policy, issuer := bundle.Spec.RequestPolicy, bundle.Spec.IssuerRef
	if bundle.Spec.Mode != certificatesv1alpha1.ModeRelay || policy == nil || issuer == nil {
		return nil
	}
	return &certificatecontent.Relay{IssuerRef: *issuer, Policy: *policy}
}

// checkRequestPolicy reads the patterns of names. Those that differ by cluster are looked at again for each.
func checkRequestPolicy(bundle *certificatesv1alpha1.CertificateBundle) *Problem {
	policy := bundle.Spec.RequestPolicy
	if policy == nil {
		return nil
	}
	for _, patterns := range certificatecontent.PatternsOf(policy) {
		for i, text := range patterns.Texts {
			field := fmt.Sprintf("%s[%d]", patterns.Field, i)
			if problem := checkName(bundle, field, text); problem != nil {
				return problem
			}
			// Each customer could ask for a name of another's.
			if bundle.Spec.ClusterNamespaceSelector != nil && namepattern.IsWide(patterns.Kind, text) && !clustertemplate.TellsCustomersApart(text) {
				return invalid(field, "the bundle is for clusters of several customers, who could ask for each other's names by %q: write {{ .Cluster.Namespace }} into it, or a label below %s", text, metav1alpha1.ProviderLabelPrefix)
			}
			if clustertemplate.Uses(text) {
				continue
			}
			if err := namepattern.Check(patterns.Kind, text); err != nil {
				return invalid(field, "%q allows nothing: %s", text, err)
			}
		}
	}
	return checkKeys(policy.Keys)
}

// checkKeys refuses keys that no request could have.
func checkKeys(keys []certificatesv1alpha1.AllowedKey) *Problem {
	largest := map[string]int32{issuance.AlgorithmRSA: issuance.MaxRSABits, issuance.AlgorithmECDSA: 521, issuance.AlgorithmEd25519: 256}
	at := slices.IndexFunc(keys, func(key certificatesv1alpha1.AllowedKey) bool { return key.MinSize > largest[key.Algorithm] })
	if at < 0 {
		return nil
	}
	return invalid(fmt.Sprintf("spec.requestPolicy.keys[%d].minSize", at), "%s keys have %d bits at most: use that or less", keys[at].Algorithm, largest[keys[at].Algorithm])
}
