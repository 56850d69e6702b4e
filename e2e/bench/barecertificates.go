package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/daytwo-dev/daytwo/e2e/bench/floor"
)

// authorityDuration is how long an authority of this program is valid.
const authorityDuration = 365 * 24 * time.Hour

// bareAuthority is a root that this program made, with an Issuer of the same name that issues from it.
type bareAuthority struct {
	name  string
	pem   string
	roots *x509.CertPool
}

// createAuthority makes a root, and has cert-manager issue from it.
func (c *certified) createAuthority(ctx context.Context, name string) (*bareAuthority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: name}, NotBefore: now.Add(-time.Minute), NotAfter: now.Add(authorityDuration),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	text := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	a := &bareAuthority{name: name, pem: text, roots: rootsOf(text)}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: fleetNamespace, Name: name}, Type: corev1.SecretTypeTLS,
		StringData: map[string]string{
			corev1.TLSCertKey: a.pem, corev1.TLSPrivateKeyKey: string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})),
		},
	}
	if err := c.env.Admin.Create(ctx, secret); err != nil {
		return nil, err
	}
	issuer := certManagerObject("Issuer", name, map[string]any{"ca": map[string]any{"secretName": name}})
	return a, c.env.Admin.Create(ctx, issuer)
}

func rootsOf(text string) *x509.CertPool {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(text))
	return roots
}

func certManagerObject(kind, name string, spec map[string]any) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	object.SetGroupVersionKind(schema.GroupVersionKind{Group: "cert-manager.io", Version: "v1", Kind: kind})
	object.SetNamespace(fleetNamespace)
	object.SetName(name)
	return object
}

// bareDelivery is a certificate for one cluster.
type bareDelivery struct {
	// name of the Secret in the cluster.
	name string
	// host that the certificate is for.
	host string
	data map[string][]byte
}

// check is the least that has to be true of a certificate before it goes anywhere: the key is its own, and its chain leads to
// the authority, for the name, now.
func (d bareDelivery) check(roots *x509.CertPool) error {
	pair, err := tls.X509KeyPair(d.data[corev1.TLSCertKey], d.data[corev1.TLSPrivateKeyKey])
	if err != nil {
		return fmt.Errorf("certificate for %s: %w", d.host, err)
	}
	if _, err := pair.Leaf.Verify(x509.VerifyOptions{DNSName: d.host, Roots: roots}); err != nil {
		return fmt.Errorf("certificate for %s: %w", d.host, err)
	}
	return nil
}

// object is the Secret, ready for the floor to apply.
func (d bareDelivery) object() (floor.Object, error) {
	secret := &corev1.Secret{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: metav1.ObjectMeta{Name: d.name}, Type: corev1.SecretTypeTLS, Data: d.data,
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(secret)
	if err != nil {
		return floor.Object{}, err
	}
	return bareObject(&unstructured.Unstructured{Object: content}, bareCertified)
}

// deliverAllBare checks certificates, and applies them in one cluster, so many at a time.
func (c *certified) deliverAllBare(ctx context.Context, cluster int, wanted []bareDelivery) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(c.concurrency)
	for _, one := range wanted {
		group.Go(func() error { return c.deliverOneBare(ctx, cluster, one, c.authority) })
	}
	return group.Wait()
}

func (c *certified) deliverOneBare(ctx context.Context, cluster int, wanted bareDelivery, authority *bareAuthority) error {
	if err := wanted.check(authority.roots); err != nil {
		return err
	}
	object, err := wanted.object()
	if err != nil {
		return err
	}
	_, err = c.bare[cluster].Apply(ctx, object)
	return err
}

// secretObject names a Secret.
func secretObject(namespace, name string) floor.Object {
	return floor.Object{GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "secrets"}, Namespace: namespace, Name: name}
}
