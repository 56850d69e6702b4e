package certificatebundle

import (
	"fmt"
	"iter"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/certificatebundle/issuing"
	"github.com/daytwo-dev/daytwo/controllers/internal/conditions"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollup"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/targetstate"
	"github.com/daytwo-dev/daytwo/controllers/internal/times"
	"github.com/daytwo-dev/daytwo/controllers/internal/truncate"
)

// summed are the conditions of deliveries that a bundle has too, and the status with which each is good.
var summed = [...]struct {
	kind string
	good metav1.ConditionStatus
}{
	{certificatesv1alpha1.ConditionDistributed, rollup.GoodIfTrue},
	{certificatesv1alpha1.ConditionTrustDistributed, rollup.GoodIfTrue},
	{certificatesv1alpha1.ConditionExpiringSoon, rollup.GoodIfFalse},
	{certificatesv1alpha1.ConditionRequestsServed, rollup.GoodIfTrue},
	{certificatesv1alpha1.ConditionReloadComplete, rollup.GoodIfTrue},
}

// part is what a bundle tells of one delivery.
type part struct {
	// expires is when the first of what is in the cluster does; zero for nothing.
	expires time.Time
	// conditions are the summed ones.
	conditions [len(summed)]rollup.Part
	// acknowledged is what a rotation decides by. It is not told, but a bundle is woken by each change of a part.
	acknowledged acknowledgement
}

// acknowledgement is a certificatesv1alpha1.AuthorityAcknowledgement that can be compared.
type acknowledgement struct {
	policyUID, clusterUID, anchorHash string
	generation, issuer                int64
	trustSince, replacedAt            int64
	reloadComplete                    bool
}

func acknowledgementOf(delivery *certificatesv1alpha1.CertificateDelivery) acknowledgement {
	told := delivery.Status.Authority
	if told == nil {
		return acknowledgement{}
	}
	return acknowledgement{
		policyUID: told.PolicyUID, clusterUID: told.ClusterUID, anchorHash: told.AnchorHash, generation: told.Generation, issuer: told.Issuer,
		trustSince: told.TrustSince.Unix(), replacedAt: told.ReplacedAt.Unix(), reloadComplete: told.ReloadComplete,
	}
}

// Part implements policy.SummingKind.
func (r *Reconciler) Part(delivery *certificatesv1alpha1.CertificateDelivery) any {
	ref := delivery.Spec.ClusterRef
	one := part{acknowledged: acknowledgementOf(delivery)}
	if delivered := delivery.Status.Certificate; delivered != nil {
		one.expires = delivered.NotAfter.Time
	} else if anchors := delivery.Status.Anchors; anchors != nil && anchors.Expires != nil {
		one.expires = anchors.Expires.Time
	}
	for i, condition := range summed {
		one.conditions[i] = rollup.PartOf(ref.Namespace+"/"+ref.Name, targetstate.CurrentCondition(delivery, condition.kind))
	}
	return one
}

// Sum implements policy.SummingKind.
func (r *Reconciler) Sum(bundle *certificatesv1alpha1.CertificateBundle, parts iter.Seq[any], now time.Time) {
	var all []part
	expires := time.Time{}
	for one := range parts {
		all = append(all, one.(part))
		expires = times.Earliest(expires, one.(part).expires)
	}
	clusters := bundle.Status.Clusters
	bundle.Status.ReadyClusters = fmt.Sprintf("%d/%d", clusters.Ready.Count, clusters.Selected.Count)
	bundle.Status.Expires = nil
	if !expires.IsZero() {
		at := metav1.NewTime(expires)
		bundle.Status.Expires = &at
	}
	list := conditions.List{Conditions: &bundle.Status.Conditions, Generation: bundle.Status.ObservedGeneration, Now: now}
	for i, condition := range summed {
		parts := conditionsOf(all, i)
		if !slices.ContainsFunc(parts, rollup.Part.IsTold) {
			list.Remove(condition.kind)
			continue
		}
		status, reason, message := rollup.Condition(parts, condition.good)
		list.Set(condition.kind, status, reason, message)
	}
}

func conditionsOf(all []part, i int) []rollup.Part {
	found := make([]rollup.Part, 0, len(all))
	for _, one := range all {
		found = append(found, one.conditions[i])
	}
	return found
}

// maxNamed is how many clusters the condition Issued names.
const maxNamed = 5

// setIssued tells how far the certificates of a bundle are issued, of one that has any. It is pure.
func setIssued(bundle *certificatesv1alpha1.CertificateBundle, issues bool, problems []issuing.Problem, now time.Time) {
	list := conditions.List{Conditions: &bundle.Status.Conditions, Generation: bundle.Status.ObservedGeneration, Now: now}
	switch {
	case !issues:
		list.Remove(certificatesv1alpha1.ConditionIssued)
	case len(problems) == 0:
		list.Set(certificatesv1alpha1.ConditionIssued, metav1.ConditionTrue, certificatesv1alpha1.ReasonIssued, "the certificates of all clusters are issued and checked")
	default:
		list.Set(certificatesv1alpha1.ConditionIssued, metav1.ConditionFalse, problems[0].Reason, issuedMessage(problems))
	}
}

// issuedMessage tells the first problem whole, and which other clusters have one.
func issuedMessage(problems []issuing.Problem) string {
	first := problems[0]
	message := first.Message
	if first.Cluster.Name != "" {
		message = fmt.Sprintf("%s/%s: %s", first.Cluster.Namespace, first.Cluster.Name, message)
	}
	if len(problems) == 1 {
		return message
	}
	var others []string
	for _, one := range problems[1:min(len(problems), maxNamed)] {
		others = append(others, one.Cluster.Namespace+"/"+one.Cluster.Name)
	}
	return message + "; not issued either for " + truncate.First(others, ", ", len(problems)-1)
}
