package certificates

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
)

// customer is the namespace in which all workload clusters are registered.
const customer = "acme"

// registerClusters registers the workload clusters once for all tests: a cluster has one TenantCluster.
var registerClusters = sync.OnceValue(func() error {
	for _, cluster := range clusters() {
		if err := env.Register(context.Background(), customer, cluster, map[string]string{"tier": "gold"}); err != nil {
			return err
		}
	}
	return nil
})

func clusters() []string { return []string{"workload-1", "workload-2", "workload-3"} }

// suite is what one test works with: names of its own in every cluster, so that tests can run beside each other.
type suite struct {
	*testing.T
	// name of the test's bundle, issuer and namespaces.
	name string
}

func newSuite(t *testing.T, name string) *suite {
	t.Helper()
	must(t, registerClusters())
	s := &suite{T: t, name: name}
	for _, cluster := range clusters() {
		s.createNamespace(cluster, name, nil)
	}
	return s
}

func (s *suite) workload(cluster string) client.WithWatch {
	s.Helper()
	found, err := env.Workload(cluster)
	must(s, err)
	return found
}

func (s *suite) createNamespace(cluster, name string, labels map[string]string) {
	s.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	must(s, client.IgnoreAlreadyExists(s.workload(cluster).Create(s.Context(), namespace)))
}

// createIssuer makes an authority that signs itself, and an Issuer that signs with it.
func (s *suite) createIssuer() {
	s.Helper()
	kind := func(kind string) schema.GroupVersionKind {
		return schema.GroupVersionKind{Group: "cert-manager.io", Version: "v1", Kind: kind}
	}
	make := func(gvk schema.GroupVersionKind, name string, spec map[string]any) {
		object := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
		object.SetGroupVersionKind(gvk)
		object.SetNamespace(customer)
		object.SetName(name)
		must(s, env.Admin.Create(s.Context(), object))
	}
	make(kind("Issuer"), s.name+"-selfsigned", map[string]any{"selfSigned": map[string]any{}})
	make(kind("Certificate"), s.name+"-authority", map[string]any{
		"isCA": true, "commonName": s.name, "secretName": s.name + "-authority",
		"privateKey": map[string]any{"algorithm": "ECDSA"}, "issuerRef": map[string]any{"name": s.name + "-selfsigned"},
	})
	make(kind("Issuer"), s.name, map[string]any{"ca": map[string]any{"secretName": s.name + "-authority"}})
}

// bundle is one that issues a wildcard for each cluster.
func (s *suite) bundle(clusters ...string) *certificatesv1alpha1.CertificateBundle {
	return &certificatesv1alpha1.CertificateBundle{
		ObjectMeta: metav1.ObjectMeta{Namespace: customer, Name: s.name},
		Spec: certificatesv1alpha1.CertificateBundleSpec{
			PolicySpec:  metav1alpha1.PolicySpec{ClusterNames: clusters},
			Mode:        certificatesv1alpha1.ModeDistribute,
			IssuerRef:   &certificatesv1alpha1.IssuerReference{Name: s.name},
			Certificate: &certificatesv1alpha1.CertificateTemplate{DNSNames: []string{"*.{{ .Cluster.Name }}.{{ .Cluster.Labels.tier }}.test"}},
			Targets: []certificatesv1alpha1.SecretTarget{{
				Placement: certificatesv1alpha1.Placement{Namespaces: []string{s.name}}, SecretName: "ingress", IncludeCA: true,
			}},
		},
	}
}

func (s *suite) create(bundle *certificatesv1alpha1.CertificateBundle) *certificatesv1alpha1.CertificateBundle {
	s.Helper()
	must(s, env.Admin.Create(s.Context(), bundle))
	return bundle
}

// change writes a bundle as a person does who edits it.
func (s *suite) change(bundle *certificatesv1alpha1.CertificateBundle, edit func(*certificatesv1alpha1.CertificateBundle)) {
	s.Helper()
	expect.Eventually(s, "the bundle is edited", func(ctx context.Context) error {
		if err := env.Admin.Get(ctx, client.ObjectKeyFromObject(bundle), bundle); err != nil {
			return err
		}
		edit(bundle)
		return env.Admin.Update(ctx, bundle)
	})
}

// awaitCondition waits for a condition of a bundle as it is now.
func (s *suite) awaitCondition(bundle *certificatesv1alpha1.CertificateBundle, kind string, status metav1.ConditionStatus, reason string) *metav1.Condition {
	s.Helper()
	var found metav1.Condition
	expect.Eventually(s, fmt.Sprintf("%s of bundle %s is %s", kind, bundle.Name, status), func(ctx context.Context) error {
		now := &certificatesv1alpha1.CertificateBundle{}
		if err := env.Admin.Get(ctx, client.ObjectKeyFromObject(bundle), now); err != nil {
			return err
		}
		if now.Status.ObservedGeneration != now.Generation {
			return fmt.Errorf("generation %d is observed, not %d", now.Status.ObservedGeneration, now.Generation)
		}
		now.DeepCopyInto(bundle)
		for _, condition := range now.Status.Conditions {
			if condition.Type == kind {
				found = condition
			}
		}
		return expect.Condition(now.Status.Conditions, kind, status, reason)
	})
	return &found
}

func (s *suite) awaitReady(bundle *certificatesv1alpha1.CertificateBundle) {
	s.Helper()
	s.awaitCondition(bundle, metav1alpha1.ConditionReady, metav1.ConditionTrue, metav1alpha1.ReasonSucceeded)
}

// delivery of a bundle in a cluster.
func (s *suite) delivery(ctx context.Context, bundle *certificatesv1alpha1.CertificateBundle, cluster string) (*certificatesv1alpha1.CertificateDelivery, error) {
	list := &certificatesv1alpha1.CertificateDeliveryList{}
	err := env.Admin.List(ctx, list, client.InNamespace(customer), client.MatchingLabels{metav1alpha1.LabelPolicy: bundle.Name, metav1alpha1.LabelCluster: cluster})
	if err != nil {
		return nil, err
	}
	if len(list.Items) != 1 {
		return nil, fmt.Errorf("%d deliveries of %s in %s", len(list.Items), bundle.Name, cluster)
	}
	return &list.Items[0], nil
}

// secret in the test's namespace of a cluster.
func (s *suite) secret(ctx context.Context, cluster, name string) (*corev1.Secret, error) {
	found := &corev1.Secret{}
	workload, err := env.Workload(cluster)
	if err != nil {
		return nil, err
	}
	return found, workload.Get(ctx, client.ObjectKey{Namespace: s.name, Name: name}, found)
}

// awaitSecret waits for a Secret in a cluster for which is returns no error.
func (s *suite) awaitSecret(cluster, name string, is func(*corev1.Secret) error) *corev1.Secret {
	s.Helper()
	var found *corev1.Secret
	expect.Eventually(s, fmt.Sprintf("Secret %s in %s is as it should be", name, cluster), func(ctx context.Context) error {
		var err error
		if found, err = s.secret(ctx, cluster, name); err != nil {
			return err
		}
		return is(found)
	})
	return found
}

func anySecret(*corev1.Secret) error { return nil }

// issuances in the management cluster of a bundle.
func (s *suite) issuances(ctx context.Context, bundle string) []corev1.Secret {
	s.Helper()
	list := &corev1.SecretList{}
	must(s, env.Admin.List(ctx, list, client.InNamespace(customer), client.MatchingLabels{metav1alpha1.LabelBundle: bundle}))
	var found []corev1.Secret
	for _, secret := range list.Items {
		if secret.Type == metav1alpha1.SecretTypeIssuance {
			found = append(found, secret)
		}
	}
	return found
}

// leafOf reads the certificate in a Secret, and checks that its key and its authority belong to it.
func leafOf(t testing.TB, secret *corev1.Secret) *x509.Certificate {
	t.Helper()
	pair, err := tls.X509KeyPair(secret.Data["tls.crt"], secret.Data["tls.key"])
	must(t, err)
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(secret.Data["ca.crt"]) {
		t.Fatalf("ca.crt of Secret %s has no certificate", secret.Name)
	}
	if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: pool}); err != nil {
		t.Fatalf("the certificate in Secret %s: %v", secret.Name, err)
	}
	return pair.Leaf
}

// differs is whether two Secrets have different certificates.
func differs(from *corev1.Secret) func(*corev1.Secret) error {
	return func(now *corev1.Secret) error {
		if bytes.Equal(from.Data["tls.crt"], now.Data["tls.crt"]) {
			return fmt.Errorf("it has the certificate that it had")
		}
		return nil
	}
}

func equals(to *corev1.Secret) func(*corev1.Secret) error {
	return func(now *corev1.Secret) error {
		for key, value := range to.Data {
			if !bytes.Equal(value, now.Data[key]) {
				return fmt.Errorf("%s is not what it was", key)
			}
		}
		if len(now.Data) != len(to.Data) {
			return fmt.Errorf("it has %d keys, not %d", len(now.Data), len(to.Data))
		}
		return nil
	}
}

// restarts is locked while the manager is dead, and for reading while it may not die: tests run beside each other.
var restarts sync.RWMutex

// withManager does something during which no other test kills the manager: what it sends without waiting for an answer, such as
// events, would be lost.
func (s *suite) withManager(do func()) {
	restarts.RLock()
	defer restarts.RUnlock()
	do()
}

// withoutManager kills the manager, does something, and starts the next one.
func (s *suite) withoutManager(do func()) {
	s.Helper()
	restarts.Lock()
	defer restarts.Unlock()
	must(s, env.Manager.Kill())
	do()
	must(s, env.Manager.Start(s.Context()))
}

// reissue has cert-manager issue a new certificate for a cluster, as it does when one is about to expire.
func (s *suite) reissue(bundle *certificatesv1alpha1.CertificateBundle, cluster string) {
	s.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: "cert-manager.io", Version: "v1", Kind: "CertificateList"})
	must(s, env.Admin.List(s.Context(), list, client.InNamespace(customer), client.MatchingLabels{metav1alpha1.LabelBundle: bundle.Name, metav1alpha1.LabelCluster: cluster}))
	if len(list.Items) != 1 {
		s.Fatalf("%d Certificates for %s", len(list.Items), cluster)
	}
	name, _, _ := unstructured.NestedString(list.Items[0].Object, "spec", "secretName")
	must(s, env.Admin.Delete(s.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: customer, Name: name}}))
}

// awaitGone waits until something is not there.
func (s *suite) awaitGone(what string, read func(ctx context.Context) error) {
	s.Helper()
	expect.Eventually(s, what+" is gone", func(ctx context.Context) error {
		if err := read(ctx); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is there: %w", err)
		}
		return nil
	})
}

// certificateIn is the first certificate of a text in PEM.
func certificateIn(t testing.TB, text []byte) *x509.Certificate {
	t.Helper()
	block, _ := pem.Decode(text)
	if block == nil {
		t.Fatal("no PEM")
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	must(t, err)
	return certificate
}
