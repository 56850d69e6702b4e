package issuing

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/certificatecontent"
	"github.com/daytwo-dev/daytwo/controllers/internal/clustertemplate"
	"github.com/daytwo-dev/daytwo/controllers/internal/issuance"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/optionalkind"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/clusterstate"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
	"github.com/daytwo-dev/daytwo/controllers/internal/selection"
)

// observation is everything that the other steps know of one certificate.
type observation struct {
	key Key
	now time.Time
	// bundle as it is wanted; nil if it is gone.
	bundle *certificatesv1alpha1.CertificateBundle
	// needed: a cluster has the certificate, or is to get it. selected: the bundle's selectors match.
	needed, selected bool
	// gone: there is no TenantCluster any more, so nobody knows what to ask for. Its target may still be there.
	gone bool
	// inUse are the issuances that targets name or have.
	inUse map[string]bool
	// issuer of cert-manager that it is asked of, and authority of the bundle's own behind that; zero for none.
	issuer    certificatesv1alpha1.IssuerReference
	authority Issuer
	// undecided: the bundle has authorities of its own, and it is not known yet from which one the certificate is to be.
	undecided bool
	// request is what is asked for; refused is why nothing can be.
	request issuance.Request
	refused error

	// presence of the Certificate, which is nil unless present.
	presence    optionalkind.Presence
	certificate *unstructured.Unstructured
	// source of what cert-manager keeps in its Secret; empty if there is none. material is its content, where it was not
	// looked at before.
	source   string
	material *issuance.Material
	// issuances that are there, the newest first.
	issuances []Issuance
	// state that was told before.
	before State
}

// observe reads everything once.
func (r *Reconciler) observe(ctx context.Context, key Key) (observation, error) {
	o := observation{key: key, now: r.Clock.Now(), inUse: map[string]bool{}, before: r.states.of(key)}
	if err := r.observeBundle(ctx, &o); err != nil {
		return o, err
	}
	var err error
	if o.issuances, err = List(ctx, r.Client, key); err != nil {
		return o, err
	}
	live, presence, err := r.certificates.Look(ctx, key.object(key.name()))
	if err != nil && !meta.IsNoMatchError(err) {
		return o, err
	}
	if o.presence = presence; presence == optionalkind.Present {
		o.certificate = live.(*unstructured.Unstructured)
	}
	return o, r.observeSecret(ctx, &o)
}

// observeBundle finds out what is wanted.
func (r *Reconciler) observeBundle(ctx context.Context, o *observation) error {
	bundle := &certificatesv1alpha1.CertificateBundle{}
	if err := r.Client.Get(ctx, o.key.Bundle, bundle); err != nil {
		return client.IgnoreNotFound(err)
	}
	o.bundle = bundle
	if err := r.observeDeliveries(ctx, o); err != nil {
		return err
	}
	if bundle.Spec.Certificate == nil || bundle.Spec.IssuerRef == nil && bundle.Spec.CA == nil || bundle.Spec.SharedKey != (o.key.Cluster.Name == "") {
		return nil
	}
	r.observeIssuer(o)
	o.needed = len(o.inUse) > 0
	cluster := clustertemplate.Cluster{}
	if !bundle.Spec.SharedKey {
		tenant, err := r.observeCluster(ctx, o)
		if o.gone = err == nil && tenant == nil; err != nil || o.gone {
			return err
		}
		cluster = clustertemplate.Cluster{ClusterReference: metav1alpha1.ClusterReference(o.key.Cluster), ClusterParameters: clusterstate.ParametersOf(tenant)}
	}
	o.selected = o.selected || bundle.Spec.SharedKey
	o.needed = o.needed || o.selected && r.states.isWanted(o.key)
	if o.refused = r.Check(bundle); o.refused == nil {
		o.request, o.refused = certificatecontent.RequestFor(bundle.Spec.Certificate, cluster)
	}
	return nil
}

// observeIssuer finds out whom the certificate is asked of.
func (r *Reconciler) observeIssuer(o *observation) {
	if o.bundle.Spec.CA == nil {
		o.issuer = *o.bundle.Spec.IssuerRef
		return
	}
	o.authority = r.states.issuerOf(o.key)
	o.issuer = o.authority.Reference(o.bundle.Name)
	o.undecided = o.authority.Generation == 0
}

// observeCluster finds out whether the bundle selects the cluster; nil if that is gone.
func (r *Reconciler) observeCluster(ctx context.Context, o *observation) (*tenancyv1alpha1.TenantCluster, error) {
	tenant := &tenancyv1alpha1.TenantCluster{}
	err := r.Client.Get(ctx, client.ObjectKey(o.key.Cluster), tenant)
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // It is gone.
	}
	if err != nil {
		return nil, fmt.Errorf("read TenantCluster %s/%s: %w", o.key.Cluster.Namespace, o.key.Cluster.Name, err)
	}
	namespace := objects.MetadataOf(corev1.SchemeGroupVersion.WithKind("Namespace"))
	if err := r.Client.Get(ctx, client.ObjectKey{Name: tenant.Namespace}, namespace); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("read Namespace %s: %w", tenant.Namespace, err)
	}
	o.selected = tenant.DeletionTimestamp.IsZero() && selection.Selects(o.bundle, tenant, labels.Set(namespace.Labels))
	return tenant, nil
}

// observeDeliveries finds out which issuances are in use.
func (r *Reconciler) observeDeliveries(ctx context.Context, o *observation) error {
	var deliveries []certificatesv1alpha1.CertificateDelivery
	if o.key.Cluster.Name == "" {
		list := &certificatesv1alpha1.CertificateDeliveryList{}
		err := r.Client.List(ctx, list, client.InNamespace(o.key.Bundle.Namespace), client.MatchingLabels{metav1alpha1.LabelPolicy: o.key.Bundle.Name}, client.UnsafeDisableDeepCopy)
		if err != nil {
			return fmt.Errorf("list the deliveries of %s: %w", o.key.Bundle, err)
		}
		deliveries = list.Items
	} else {
		one := certificatesv1alpha1.CertificateDelivery{}
		err := r.Client.Get(ctx, o.key.object(rollout.TargetName(o.key.Bundle.Name, o.key.Cluster)), &one)
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("read the delivery of %s: %w", o.key, err)
		}
		if err == nil {
			deliveries = append(deliveries, one)
		}
	}
	for _, one := range deliveries {
		o.inUse[one.Spec.Content] = true
		if one.Status.Certificate != nil {
			o.inUse[one.Status.Certificate.Issuance] = true
		}
	}
	return nil
}

// observeSecret reads what cert-manager issued, unless it is known already.
func (r *Reconciler) observeSecret(ctx context.Context, o *observation) error {
	secrets, err := list(ctx, r.Client, o.key.Bundle.Namespace, indexKey, o.key.String())
	if err != nil {
		return err
	}
	for i := range secrets {
		if secrets[i].Name == o.key.name() {
			o.source = sourceOf(&secrets[i])
		}
	}
	if o.source == "" || !o.needed || o.gone || o.refused != nil || o.isTaken() || o.before.refusedSource == o.refusalOf(o.source) {
		return nil
	}
	secret := &corev1.Secret{}
	if err := r.APIReader.Get(ctx, o.key.object(o.key.name()), secret); err != nil {
		return client.IgnoreNotFound(err)
	}
	o.source = sourceOf(secret)
	o.material = &issuance.Material{
		Certificate: secret.Data[corev1.TLSCertKey], PrivateKey: secret.Data[corev1.TLSPrivateKeyKey], CA: secret.Data[corev1.ServiceAccountRootCAKey],
	}
	return nil
}

// requestHash tells this request from others.
func (o *observation) requestHash() string { return RequestHash(o.request, o.issuer) }

// isTaken is whether what cert-manager keeps is an issuance already, for the same request.
func (o *observation) isTaken() bool {
	for _, one := range o.issuances {
		if one.Source == o.source && one.Request == o.requestHash() {
			return true
		}
	}
	return false
}
