package relay

import (
	"cmp"
	"slices"
	"time"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/certificatecontent"
	"github.com/daytwo-dev/daytwo/controllers/internal/clustertemplate"
	"github.com/daytwo-dev/daytwo/controllers/internal/issuance"
	"github.com/daytwo-dev/daytwo/controllers/internal/namepattern"
)

// Defaults, where a bundle was stored by an API server that did not write them.
const (
	defaultDuration   = 90 * 24 * time.Hour
	defaultMaxPending = 10
	defaultMaxPerHour = 60
)

// policy is what requests of one cluster may ask for.
type policy struct {
	signer string
	issuer certificatesv1alpha1.IssuerReference
	// allowed names, as patterns.
	allowed     map[namepattern.Kind][]string
	usages      []string
	maxDuration time.Duration
	keys        []certificatesv1alpha1.AllowedKey
	requestors  *certificatesv1alpha1.Requestors
	// maxPending and maxPerHour bound what goes to the issuer.
	maxPending, maxPerHour int
}

// policyFor is the policy of a revision in a cluster. It fails where a name cannot be made for that.
func policyFor(signer string, content *certificatecontent.Relay, cluster clustertemplate.Cluster) (*policy, error) {
	allowed, err := certificatecontent.AllowedIn(&content.Policy, cluster)
	if err != nil {
		return nil, err
	}
	p := &policy{
		signer: signer, issuer: content.IssuerRef, allowed: allowed, maxDuration: defaultDuration, requestors: content.Policy.Requestors,
		maxPending: int(cmp.Or(content.Policy.MaxPending, defaultMaxPending)), maxPerHour: int(cmp.Or(content.Policy.MaxPerHour, defaultMaxPerHour)),
		keys: slices.Clone(content.Policy.Keys),
	}
	if longest := content.Policy.MaxDuration; longest != nil {
		p.maxDuration = longest.Duration
	}
	for _, usage := range certificatecontent.AllowedUsages(&content.Policy) {
		p.usages = append(p.usages, string(usage))
	}
	if len(p.keys) == 0 {
		p.keys = []certificatesv1alpha1.AllowedKey{{Algorithm: issuance.AlgorithmRSA}, {Algorithm: issuance.AlgorithmECDSA}, {Algorithm: issuance.AlgorithmEd25519}}
	}
	return p, nil
}
