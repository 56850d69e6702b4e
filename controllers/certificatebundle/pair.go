package certificatebundle

import (
	"context"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/certificatebundle/issuing"
	"github.com/daytwo-dev/daytwo/controllers/certificatebundle/rotation"
	"github.com/daytwo-dev/daytwo/controllers/internal/certificatecontent"
	"github.com/daytwo-dev/daytwo/controllers/internal/clustertemplate"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/clusterstate"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
)

// Pair implements policy.PairedKind: each cluster gets the certificate that was issued for it.
func (r *Reconciler) Pair(
	ctx context.Context, bundle *certificatesv1alpha1.CertificateBundle, cluster *tenancyv1alpha1.TenantCluster,
	delivery *certificatesv1alpha1.CertificateDelivery, now time.Time,
) (policy.Pair, error) {
	if r.issuing == nil || bundle.Spec.Certificate == nil || r.Checker.Check(bundle) != nil {
		return policy.Pair{Content: contentOf(delivery)}, nil
	}
	at := rollout.ClusterKey{Namespace: cluster.Namespace, Name: cluster.Name}
	issuer, urgent, waits := r.issuerIn(bundle, at)
	if waits != nil {
		waits.Content = contentOf(delivery)
		return *waits, nil
	}
	key := issuing.KeyOf(bundle, at)
	list, err := issuing.List(ctx, r.Client, key)
	if err != nil {
		return policy.Pair{}, err
	}
	current := currentOf(list, bundle, cluster, issuer, now)
	if cluster.DeletionTimestamp.IsZero() {
		r.issuing.Want(key, current)
	}
	pair := pairOf(bundle, delivery, list, current, now)
	if urgent && len(pair.Gates) == 0 {
		pair.Overrides = []string{metav1alpha1.ReasonWindowClosed}
	}
	return pair, nil
}

// issuerIn is whom the certificate of a cluster is asked of. It is urgent in an emergency of the bundle's own authority. Where that is to
// be trusted in the cluster before it issues for it, or is not known, the cluster waits.
func (r *Reconciler) issuerIn(bundle *certificatesv1alpha1.CertificateBundle, cluster rollout.ClusterKey) (issuer certificatesv1alpha1.IssuerReference, urgent bool, waits *policy.Pair) {
	if bundle.Spec.CA == nil {
		return *bundle.Spec.IssuerRef, false, nil
	}
	decided := r.decisions.of(client.ObjectKeyFromObject(bundle))
	if decided == nil {
		return issuer, false, waitsForAuthority()
	}
	told, known := decided.in(cluster)
	switch {
	case !known:
		return issuer, false, waitsForAuthority()
	case told.Issuer == 0:
		return issuer, false, &policy.Pair{}
	}
	return issuing.Issuer{Generation: told.Issuer}.Reference(bundle.Name), decided.plan.Urgent, nil
}

func waitsForAuthority() *policy.Pair {
	return &policy.Pair{Gates: []rollout.Gate{{
		Reason: rotation.ReasonRotationHeld, Message: "waiting for the certificate authority", Blocks: rollout.Create | rollout.Update, KeepsSlot: true,
	}}}
}

// currentOf is the issuance that a cluster should have; nil if there is none.
func currentOf(
	list []issuing.Issuance, bundle *certificatesv1alpha1.CertificateBundle, cluster *tenancyv1alpha1.TenantCluster,
	issuer certificatesv1alpha1.IssuerReference, now time.Time,
) *issuing.Issuance {
	described := clustertemplate.Cluster{}
	if !bundle.Spec.SharedKey {
		described.ClusterReference = metav1alpha1.ClusterReference{Namespace: cluster.Namespace, Name: cluster.Name}
		described.ClusterParameters = clusterstate.ParametersOf(cluster)
	}
	request, err := certificatecontent.RequestFor(bundle.Spec.Certificate, described)
	if err != nil {
		return nil // The state of the certificate tells why.
	}
	return issuing.Current(list, bundle.Spec.RollbackTo, issuing.RequestHash(request, issuer), now)
}

// pairOf decides what a cluster gets. It is pure.
func pairOf(
	bundle *certificatesv1alpha1.CertificateBundle, delivery *certificatesv1alpha1.CertificateDelivery,
	list []issuing.Issuance, current *issuing.Issuance, now time.Time,
) policy.Pair {
	if current == nil {
		return policy.Pair{Content: contentOf(delivery), Gates: []rollout.Gate{{
			Reason: certificatesv1alpha1.ReasonIssuancePending, Message: "waiting for a certificate (see condition Issued)",
			Blocks: rollout.Create | rollout.Update, KeepsSlot: true,
		}}}
	}
	pair := policy.Pair{Content: current.Name}
	had := contentOf(delivery)
	if had == "" || had == current.Name {
		return pair
	}
	before := find(list, had)
	if before == nil || !current.NotAfter.After(before.NotAfter) {
		return pair
	}
	if at := urgentAt(*before, bundle.Spec.Certificate); now.Before(at) {
		pair.Again = at
		return pair
	}
	pair.Overrides = []string{metav1alpha1.ReasonWindowClosed}
	if before.Request == current.Request {
		// The certificate alone: what else is new waits for its slot and its window. One that was asked for in another way
		// needs the revision that asks for it.
		pair.Revision = delivery.Spec.Revision
	}
	return pair
}

// urgentAt is when a cluster has to get a newer certificate than it has, whatever holds a rollout back: half of the time before
// its end in which it is renewed.
func urgentAt(had issuing.Issuance, template *certificatesv1alpha1.CertificateTemplate) time.Time {
	_, renewBefore := issuing.Lifetime(template)
	return had.NotAfter.Add(-renewBefore / 2)
}

// find is the issuance of a name; nil if there is none.
func find(list []issuing.Issuance, name string) *issuing.Issuance {
	at := slices.IndexFunc(list, func(one issuing.Issuance) bool { return one.Name == name })
	if at < 0 {
		return nil
	}
	return &list[at]
}

func contentOf(delivery *certificatesv1alpha1.CertificateDelivery) string {
	if delivery == nil {
		return ""
	}
	return delivery.Spec.Content
}
