package certificatedelivery

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/certificatecontent"
	"github.com/daytwo-dev/daytwo/controllers/internal/clustertemplate"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/issuance"
	"github.com/daytwo-dev/daytwo/controllers/internal/target"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
)

// Declare implements target.DeclaredKind.
func (r *Reconciler) Declare(ctx context.Context, o *observation, cluster *fleet.Cluster) ([]apply.Object, error) {
	content, err := r.revisions.Read(ctx, r.Room.APIReader, types.NamespacedName{Namespace: o.Target.Namespace, Name: o.Target.Spec.Revision})
	if err != nil {
		return nil, err
	}
	w := wanted{Content: content, cluster: clustertemplate.Cluster{ClusterReference: o.Target.Spec.ClusterRef, ClusterParameters: o.Target.Spec.Cluster}}
	if w.Trust, err = withOwnAnchors(w.Trust, o.Target.Spec.Authority, o.Now); err != nil {
		return nil, err
	}
	if w.issued, err = r.readIssuance(ctx, o, w); err != nil {
		return nil, err
	}
	if w.namespaces, err = r.declareNamespaces(ctx, o, cluster, content); err != nil {
		return nil, err
	}
	if w.trustBundles, err = servedTrustBundles(ctx, cluster, content.Trust); err != nil {
		return nil, err
	}
	list, err := desired(w)
	if err != nil {
		return nil, err
	}
	o.Extra.declared = declaredIn(o, w)
	o.Extra.declared.reload, o.Extra.declared.reloadsCertificate = reloadTargets(w, list)
	return apply.Prepare(list, r.Installation, "")
}

// issued is a certificate that was checked.
type issued struct {
	issuance.Material
	issuance.Issued
}

// readIssuance reads the certificate of the cluster past the cache, and checks it again: who may write Secrets in the namespace
// may have put something else in its place. Nil for a bundle that has none.
func (r *Reconciler) readIssuance(ctx context.Context, o *observation, w wanted) (*issued, error) {
	name := o.Target.Spec.Content
	if w.Certificate == nil || name == "" && o.Target.Spec.Authority != nil {
		return nil, nil //nolint:nilnil // There is none, or none until the authority is trusted that it is to be from.
	}
	secret, err := r.reads.issuance(ctx, r.Room.APIReader, types.NamespacedName{Namespace: o.Target.Namespace, Name: name})
	switch {
	case apierrors.IsNotFound(err) || name == "":
		return nil, refused(certificatesv1alpha1.ReasonIssuanceNotFound, "the issuance %s/%s is gone; what is in the cluster stays until the next one", o.Target.Namespace, name)
	case err != nil:
		return nil, fmt.Errorf("read issuance %s/%s: %w", o.Target.Namespace, name, err)
	case secret.Type != metav1alpha1.SecretTypeIssuance:
		return nil, refused(certificatesv1alpha1.ReasonIssuanceNotFound, "Secret %s/%s is of type %q and no issuance: delete it; what is in the cluster stays", o.Target.Namespace, name, secret.Type)
	}
	request, err := certificatecontent.RequestFor(w.Certificate, w.cluster)
	if err != nil {
		return nil, refused(metav1alpha1.ReasonInvalidSpec, "%s", err)
	}
	found := &issued{Material: issuance.Material{
		Certificate: secret.Data[corev1.TLSCertKey], PrivateKey: secret.Data[corev1.TLSPrivateKeyKey], CA: secret.Data[corev1.ServiceAccountRootCAKey],
	}}
	if found.Issued, err = issuance.Check(found.Material, request, checkedAt(o, secret)); err != nil {
		return nil, certificateRefused(o, secret, err)
	}
	if err := found.setAuthority(o, secret); err != nil {
		return nil, err
	}
	return found, nil
}

// checkedAt is when a certificate has to be valid: now, or if it is in the cluster already, when it came there. One that has
// expired meanwhile is still put back: the cluster is no worse for it, and its trust anchors are not held up.
func checkedAt(o *observation, secret *corev1.Secret) time.Time {
	if delivered := o.Status.Certificate; delivered != nil && delivered.Issuance == secret.Name && o.Now.After(delivered.NotAfter.Time) {
		return delivered.NotAfter.Time
	}
	return o.Now
}

func certificateRefused(o *observation, secret *corev1.Secret, err error) error {
	verdict := refused(certificatesv1alpha1.ReasonCertificateRefused, "the issuance %s/%s is not as it was asked for, and goes into no cluster: %s", secret.Namespace, secret.Name, err)
	var problem *issuance.Problem
	if errors.As(err, &problem) && problem.Until.After(o.Now) {
		o.Extra.again, verdict.Stalled = problem.Until.Add(time.Second), false
	}
	return verdict
}

func refused(reason, format string, args ...any) *target.Verdict {
	return &target.Verdict{Reason: reason, Stalled: true, Message: fmt.Sprintf(format, args...)}
}

// notServed is told of a cluster that has no ClusterTrustBundles.
const notServed = "the cluster does not serve ClusterTrustBundles"

// declared is what a status tells of the objects that were declared.
type declared struct {
	certificate *certificatesv1alpha1.DeliveredCertificate
	anchors     *certificatesv1alpha1.AnchorSummary
	// selectors of namespaces, and the hash of what they selected.
	selectors  []string
	namespaces string
	// leftOut says what the cluster does not serve; empty for nothing.
	leftOut string
	// reload are the objects whose users are restarted; reloadsCertificate: the certificate is in one of them.
	reload             []certificatesv1alpha1.ReloadTarget
	reloadsCertificate bool
}

func declaredIn(o *observation, w wanted) *declared {
	told := &declared{selectors: selectorsOf(w.Content), namespaces: hashOf(o.Extra.namespaces)}
	if w.Trust != nil && w.Trust.Summary.Count > 0 {
		told.anchors = w.Trust.Summary.DeepCopy()
	}
	if w.issued != nil {
		told.certificate = &certificatesv1alpha1.DeliveredCertificate{
			Issuance: o.Target.Spec.Content, SerialNumber: w.issued.Serial, Fingerprint: w.issued.Fingerprint,
			NotBefore: metav1.NewTime(w.issued.NotBefore), NotAfter: metav1.NewTime(w.issued.NotAfter),
		}
		if chain := w.issued.ChainNotAfter; chain.Before(w.issued.NotAfter) {
			at := metav1.NewTime(chain)
			told.certificate.ChainNotAfter = &at
		}
	}
	if w.trustBundles == "" && hasTrustBundles(w.Content) {
		told.leftOut = notServed
	}
	return told
}
