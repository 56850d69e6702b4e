package certificatedelivery

import (
	"context"
	"encoding/pem"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/certificatecontent"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/issuance"
	"github.com/daytwo-dev/daytwo/controllers/internal/target"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
)

// withAuthority is the hash of everything that the objects are made from, that the target has beside its revision and its content.
func withAuthority(inputs string, told *certificatesv1alpha1.DeliveredAuthority) string {
	if told == nil {
		return inputs
	}
	return inputs + "-" + told.AnchorHash[:min(len(told.AnchorHash), 16)]
}

// withOwnAnchors adds the anchors of the bundle's own authorities to those of a revision.
func withOwnAnchors(trust *certificatecontent.Trust, told *certificatesv1alpha1.DeliveredAuthority, now time.Time) (*certificatecontent.Trust, error) {
	if trust == nil || told == nil {
		return trust, nil
	}
	merged, err := issuance.Anchors([]byte(trust.PEM+"\n"+told.Anchors), now)
	if err != nil {
		return nil, refused(certificatesv1alpha1.ReasonTrustInvalid, "the anchors of spec.ca: %s", err)
	}
	// When the authorities expire is told of the certificates.
	summary := certificatesv1alpha1.AnchorSummary{Count: int32(len(merged.Anchors)), Hash: merged.Hash[:16], Expires: trust.Summary.Expires, LeftOut: trust.Summary.LeftOut}
	return &certificatecontent.Trust{PEM: string(merged.PEM), Summary: summary, Targets: trust.Targets}, nil
}

// setAuthority has a certificate delivered with the anchors that the cluster is told to trust. Its own has to be among them.
func (i *issued) setAuthority(o *observation, secret *corev1.Secret) error {
	told := o.Target.Spec.Authority
	if told == nil {
		return nil
	}
	block, _ := pem.Decode(i.CA)
	// In an emergency the anchor goes before the certificate, which stays until the next one is issued.
	isHere := o.Status.Certificate != nil && o.Status.Certificate.Issuance == secret.Name
	if !isHere && (block == nil || !slices.Contains(blocksOf(told.Anchors), string(block.Bytes))) {
		return refused(certificatesv1alpha1.ReasonCertificateRefused, "the issuance %s/%s is from an authority that the cluster is not told to trust, and goes into no cluster: delete it",
			secret.Namespace, secret.Name)
	}
	i.CA = []byte(told.Anchors)
	return nil
}

// blocksOf are the contents of the blocks of a text in PEM.
func blocksOf(text string) (contents []string) {
	for block, rest := pem.Decode([]byte(text)); block != nil; block, rest = pem.Decode(rest) {
		contents = append(contents, string(block.Bytes))
	}
	return contents
}

// hasDifference is whether something in the cluster was seen that is not as it was delivered.
func hasDifference(o *observation) bool {
	if o.Target.Spec.Authority == nil {
		return false
	}
	for key := range o.Inventory {
		if o.States[key].Drifted {
			return true
		}
	}
	return false
}

// concludeAuthority tells what is known of the bundle's own authorities in the cluster. What was not as it was delivered is told first, and
// acknowledged again when it is seen as it should be.
func concludeAuthority(o *observation, status *certificatesv1alpha1.CertificateDeliveryStatus, written time.Time) {
	if o.Target.Spec.Authority == nil || hasDifference(o) {
		reportDifference(o.Target.Spec.Authority, status)
		return
	}
	if state, _, _ := readBack(o, status); state == metav1.ConditionTrue && isApplied(o, status) {
		acknowledgeAuthority(o.Target, status, written)
	}
}

// acknowledgeAuthority tells what was read back of the bundle's own authorities. All of it was written by the given time, from which counts
// what depends on when it was stored.
func acknowledgeAuthority(target *certificatesv1alpha1.CertificateDelivery, status *certificatesv1alpha1.CertificateDeliveryStatus, written time.Time) {
	told := target.Spec.Authority
	at := roundedUp(written)
	next := certificatesv1alpha1.AuthorityAcknowledgement{
		PolicyUID: told.PolicyUID, Generation: target.Generation, ClusterUID: status.ClusterID,
		AnchorHash: told.AnchorHash, TrustSince: at, Issuer: certificatecontent.GenerationOf(target.Spec.Content),
	}
	if before := status.Authority; before != nil {
		next.ReplacedAt = before.ReplacedAt
		if before.AnchorHash == next.AnchorHash && before.ClusterUID == next.ClusterUID && !before.TrustSince.IsZero() {
			next.TrustSince = before.TrustSince
		}
		// Where something else was seen, or in another cluster, the leaf may have been any.
		if before.Issuer != 0 && (before.Issuer != next.Issuer || before.AnchorHash == "" || before.ClusterUID != next.ClusterUID) {
			next.ReplacedAt = at
		}
	}
	status.Authority = &next
}

// roundedUp to whole seconds, which is what is stored.
func roundedUp(at time.Time) metav1.Time {
	whole := at.Truncate(time.Second)
	if whole.Before(at) {
		whole = whole.Add(time.Second)
	}
	return metav1.NewTime(whole)
}

// reportDifference tells of a cluster, before it is corrected, that what is stored there may be something else than what was told.
func reportDifference(told *certificatesv1alpha1.DeliveredAuthority, status *certificatesv1alpha1.CertificateDeliveryStatus) {
	was := status.Authority
	if told == nil {
		status.Authority = nil
		return
	}
	if was == nil || was.AnchorHash == "" { // It is told already.
		return
	}
	was.AnchorHash, was.TrustSince = "", metav1.Time{}
}

// Stages implements target.StagedKind: what is not as it was delivered is told before it is corrected. A manager that dies in between
// would otherwise correct a cluster unnoticed whose workloads have loaded something else.
func (r *Reconciler) Stages(o *observation, _ target.StagedPlan, _ *fleet.Cluster, journal *journal) apply.Stages {
	return stages{o: o, journal: journal}
}

type journal = target.Journal[*certificatesv1alpha1.CertificateDelivery, certificatesv1alpha1.CertificateDeliveryStatus]

type stages struct {
	apply.NoStages

	o       *observation
	journal *journal
}

// Begin implements apply.Stages.
func (s stages) Begin(ctx context.Context) error {
	told := s.journal.Status.Authority
	if !hasDifference(s.o) || told == nil || told.AnchorHash == "" {
		return nil
	}
	return s.journal.Store(ctx, func(status *certificatesv1alpha1.CertificateDeliveryStatus) {
		status.Authority = status.Authority.DeepCopy()
		reportDifference(s.o.Target.Spec.Authority, status)
	})
}
