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
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

// reissuing is the condition with which cmctl renew has cert-manager renew a certificate.
const reissuing = `[{"op": "add", "path": "/status/conditions/-", "value": {"type": "Issuing", "status": "True",
	"reason": "ManuallyTriggered", "message": "Certificate re-issuance manually triggered", "lastTransitionTime": %q}}]`

func certManagerKind(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "cert-manager.io", Version: "v1", Kind: kind}
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

// readTrusted reads the anchors that workloads in a customer's cluster trust.
func (s *story) readTrusted(ctx context.Context, c customer) (*x509.CertPool, error) {
	workload, err := s.env.Workload(c.name)
	if err != nil {
		return nil, err
	}
	anchors, trusted := &corev1.ConfigMap{}, x509.NewCertPool()
	if err := workload.Get(ctx, client.ObjectKey{Namespace: chartName, Name: anchorsName}, anchors); err != nil {
		return nil, err
	}
	if !trusted.AppendCertsFromPEM([]byte(anchors.Data["ca.crt"])) {
		return nil, fmt.Errorf("ConfigMap %s has no certificate", anchors.Name)
	}
	return trusted, nil
}

// serve is a server in a customer's cluster.
func (s *story) serve(ctx context.Context, c customer) (*tlsServer, error) {
	return serveTLS(ctx, func(ctx context.Context) (*tls.Certificate, error) {
		secret, err := s.readServed(ctx, c)
		if err != nil {
			return nil, err
		}
		return keyPair(secret)
	})
}

// renewWhileServed shows that a renewal reaches a server of the customer's, and that no client notices.
func (s *story) renewWhileServed(ctx context.Context, c customer) (err error) {
	trusted, err := s.readTrusted(ctx, c)
	if err != nil {
		return err
	}
	server, err := s.serve(ctx, c)
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
