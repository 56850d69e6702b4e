package certificatecontent

import (
	"fmt"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/clustertemplate"
	"github.com/daytwo-dev/daytwo/controllers/internal/namepattern"
)

// Relay is what a bundle in mode Relay answers requests by.
type Relay struct {
	// IssuerRef names the issuer of cert-manager.
	IssuerRef certificatesv1alpha1.IssuerReference `json:"issuerRef"`
	// Policy says what requests may ask for.
	Policy certificatesv1alpha1.RequestPolicy `json:"policy"`
}

// Patterns are those of one field of a RequestPolicy.
type Patterns struct {
	Kind namepattern.Kind
	// Field of the bundle, as in "spec.requestPolicy.dnsNames".
	Field string
	Texts []string
}

// PatternsOf are the names that a policy allows, as they are written.
func PatternsOf(policy *certificatesv1alpha1.RequestPolicy) []Patterns {
	return []Patterns{
		{namepattern.CommonName, "spec.requestPolicy.commonNames", policy.CommonNames},
		{namepattern.DNSName, "spec.requestPolicy.dnsNames", policy.DNSNames},
		{namepattern.IPAddress, "spec.requestPolicy.ipAddresses", policy.IPAddresses},
		{namepattern.URI, "spec.requestPolicy.uris", policy.URIs},
		{namepattern.EmailAddress, "spec.requestPolicy.emailAddresses", policy.EmailAddresses},
	}
}

// AllowedIn are the patterns of the names that a policy allows in a cluster. It fails where one cannot be expanded for it.
func AllowedIn(policy *certificatesv1alpha1.RequestPolicy, cluster clustertemplate.Cluster) (map[namepattern.Kind][]string, error) {
	allowed := map[namepattern.Kind][]string{}
	for _, patterns := range PatternsOf(policy) {
		for i, text := range patterns.Texts {
			expanded, err := clustertemplate.Expand(text, cluster)
			if err != nil {
				return nil, fmt.Errorf("%s[%d]: %w", patterns.Field, i, err)
			}
			if err := namepattern.Check(patterns.Kind, expanded); err != nil {
				return nil, fmt.Errorf("%s[%d] becomes %q: %w", patterns.Field, i, expanded, err)
			}
			allowed[patterns.Kind] = append(allowed[patterns.Kind], expanded)
		}
	}
	return allowed, nil
}

// AllowedUsages are the usages that a policy allows.
func AllowedUsages(policy *certificatesv1alpha1.RequestPolicy) []certificatesv1alpha1.KeyUsage {
	if len(policy.Usages) > 0 {
		return policy.Usages
	}
	return defaultUsages()
}
