package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

// issuerName is an Issuer of cert-manager's that signs with an authority of the provider's, which authorityName names.
const (
	issuerName    = "customers"
	authorityName = "customers-authority"
)

// reissuing is the condition with which cmctl renew has cert-manager renew a certificate.
const reissuing = `[{"op": "add", "path": "/status/conditions/-", "value": {"type": "Issuing", "status": "True",
	"reason": "ManuallyTriggered", "message": "Certificate re-issuance manually triggered", "lastTransitionTime": %q}}]`

func certManagerKind(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "cert-manager.io", Version: "v1", Kind: kind}
}

func newCertManagerObject(kind, name string, spec map[string]any) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	object.SetGroupVersionKind(certManagerKind(kind))
	object.SetNamespace(providerNamespace)
	object.SetName(name)
	return object
}

// makeAuthority has cert-manager make an authority and an Issuer that signs with it, and returns what clients trust.
func (s *story) makeAuthority(ctx context.Context) (*x509.CertPool, error) {
	trusted := x509.NewCertPool()
	return trusted, s.screen.Do("making an authority", func() (done, error) {
		for _, object := range []*unstructured.Unstructured{
			newCertManagerObject("Issuer", "selfsigned", map[string]any{"selfSigned": map[string]any{}}),
			newCertManagerObject("Certificate", authorityName, map[string]any{
				"isCA": true, "commonName": "Authority of the demo", "secretName": authorityName,
				"privateKey": map[string]any{"algorithm": "ECDSA"}, "issuerRef": map[string]any{"name": "selfsigned"},
			}),
			newCertManagerObject("Issuer", issuerName, map[string]any{"ca": map[string]any{"secretName": authorityName}}),
		} {
			if err := s.createAndAwaitReady(ctx, object); err != nil {
				return done{}, fmt.Errorf("create %s %s: %w", object.GetKind(), object.GetName(), err)
			}
		}
		secret := &corev1.Secret{}
		if err := s.env.Admin.Get(ctx, client.ObjectKey{Namespace: providerNamespace, Name: authorityName}, secret); err != nil {
			return done{}, err
		}
		if !trusted.AppendCertsFromPEM(secret.Data[corev1.TLSCertKey]) {
			return done{}, fmt.Errorf("secret %s has no certificate", secret.Name)
		}
		return done{text: "cert-manager has an authority, and an Issuer that signs with it"}, nil
	})
}

// createAndAwaitReady creates an object of cert-manager's, and waits until its condition Ready is true.
func (s *story) createAndAwaitReady(ctx context.Context, object *unstructured.Unstructured) error {
	if err := s.env.Admin.Create(ctx, object); err != nil {
		return err
	}
	return await(ctx, func(ctx context.Context) (sight, error) {
		if err := s.env.Admin.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return sight{}, err
		}
		var live struct {
			Status struct {
				Conditions []metav1.Condition `json:"conditions"`
			} `json:"status"`
		}
		err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &live)
		conditions := live.Status.Conditions
		return sight{happened: meta.IsStatusConditionTrue(conditions, "Ready"), seen: describe(conditions, "Ready")}, err
	})
}

// readServed reads the Secret with the certificate of a customer's cluster.
func (s *story) readServed(ctx context.Context, c customer) (*corev1.Secret, error) {
	workload, err := s.env.Workload(c.name)
	if err != nil {
		return nil, err
	}
	secret := servedSecret()
	return secret, workload.Get(ctx, client.ObjectKeyFromObject(secret), secret)
}

// host is a name that the customer's wildcard stands for.
func (c customer) host() string { return "shop." + c.namespace() + hostSuffix }

// checkServed does not take the manager's word for it.
func checkServed(secret *corev1.Secret, c customer, trusted *x509.CertPool) error {
	pair, err := keyPair(secret)
	if err != nil {
		return err
	}
	_, err = pair.Leaf.Verify(x509.VerifyOptions{Roots: trusted, DNSName: c.host()})
	return err
}

func keyPair(secret *corev1.Secret) (*tls.Certificate, error) {
	pair, err := tls.X509KeyPair(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey])
	if err != nil {
		return nil, fmt.Errorf("use Secret %s/%s: %w", secret.Namespace, secret.Name, err)
	}
	return &pair, nil
}

func sameData(one, other *corev1.Secret) bool {
	return maps.EqualFunc(one.Data, other.Data, slices.Equal[[]byte])
}

// renewWhileServed shows that a renewal reaches a server of the customer's, and that no client notices.
func (s *story) renewWhileServed(ctx context.Context, c customer, trusted *x509.CertPool) (err error) {
	server, err := serveTLS(ctx, func(ctx context.Context) (*tls.Certificate, error) {
		secret, err := s.readServed(ctx, c)
		if err != nil {
			return nil, err
		}
		return keyPair(secret)
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	visitor := tlsClient{address: server.Addr(), config: &tls.Config{RootCAs: trusted, ServerName: c.host()}}
	open, err := visitor.connect(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, open.Close()) }()
	certificate, err := s.certificateOf(ctx, c)
	if err != nil {
		return err
	}
	handshakes := 0
	if err := s.screen.Do("renewing the certificate of "+c.name, func() (done, error) {
		start := time.Now()
		patch := client.RawPatch(types.JSONPatchType, fmt.Appendf(nil, reissuing, start.UTC().Format(time.RFC3339)))
		if err := s.env.Admin.Status().Patch(ctx, certificate, patch); err != nil {
			return done{}, fmt.Errorf("renew Certificate %s: %w", certificate.GetName(), err)
		}
		handshakes, err = visitor.awaitOther(ctx, open.certificate())
		s.figures.renewed = time.Since(start)
		return done{c.name + ": the certificate is renewed, and a TLS server serves the new one", s.figures.renewed}, errors.Join(err, open.echo())
	}); err != nil {
		return err
	}
	s.screen.Note(fmt.Sprintf("meanwhile, all %d handshakes succeeded, and the connection from before goes on", handshakes))
	s.screen.Command("cmctl --kubeconfig " + managementKubeconfig() + " renew " + certificate.GetName() + " -n " + providerNamespace)
	return s.awaitDelivered(ctx)
}

// certificateOf is cert-manager's Certificate for a customer's cluster.
func (s *story) certificateOf(ctx context.Context, c customer) (*unstructured.Unstructured, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(certManagerKind("CertificateList"))
	if err := s.env.Admin.List(ctx, list, client.InNamespace(providerNamespace), client.MatchingLabels{
		metav1alpha1.LabelBundle: bundleName, metav1alpha1.LabelClusterNamespace: c.namespace(), metav1alpha1.LabelCluster: tenantCluster,
	}); err != nil {
		return nil, err
	}
	if len(list.Items) != 1 {
		return nil, fmt.Errorf("there are %d Certificates for %s/%s", len(list.Items), c.namespace(), tenantCluster)
	}
	return &list.Items[0], nil
}
