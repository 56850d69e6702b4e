package relay

import (
	"crypto"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/certificatecontent"
	"github.com/daytwo-dev/daytwo/controllers/internal/clustertemplate"
	"github.com/daytwo-dev/daytwo/controllers/internal/issuance/issuancetest"
)

var now = issuancetest.Now

const (
	signer  = "daytwo.dev/shop"
	allowed = "web.prod.example.com"
)

// relayWith is what a bundle holds that allows names below that of the cluster.
func relayWith(edit func(*certificatesv1alpha1.RequestPolicy)) *certificatecontent.Relay {
	content := &certificatecontent.Relay{
		IssuerRef: certificatesv1alpha1.IssuerReference{Kind: "Issuer", Name: "internal"},
		Policy:    certificatesv1alpha1.RequestPolicy{DNSNames: []string{"*.{{ .Cluster.Name }}.example.com"}},
	}
	if edit != nil {
		edit(&content.Policy)
	}
	return content
}

func prod() clustertemplate.Cluster {
	return clustertemplate.Cluster{ClusterReference: metav1alpha1.ClusterReference{Namespace: "acme", Name: "prod"}}
}

// newPolicy is that policy in the cluster prod.
func newPolicy(t testing.TB, edit func(*certificatesv1alpha1.RequestPolicy)) *policy {
	t.Helper()
	found, err := policyFor(signer, relayWith(edit), prod())
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// pemFor is a request in PEM.
func pemFor(t testing.TB, key crypto.Signer, template *x509.CertificateRequest) []byte {
	t.Helper()
	der, err := x509.CreateCertificateRequest(rand.Reader, template, key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
}

// newRequest is an open one that the policy allows.
func newRequest(t testing.TB, name string) request {
	t.Helper()
	return request{
		name: name, uid: types.UID("uid-" + name), version: "7", created: now.Add(-time.Minute), signer: signer,
		pem:    pemFor(t, issuancetest.NewKey(t), &x509.CertificateRequest{DNSNames: []string{allowed}}),
		usages: []string{"server auth", "digital signature"}, username: "system:serviceaccount:shop:web", groups: []string{"system:authenticated"},
	}
}

func testDelivery() *certificatesv1alpha1.CertificateDelivery {
	delivery := &certificatesv1alpha1.CertificateDelivery{ObjectMeta: metav1.ObjectMeta{
		Namespace: "acme", Name: "shop-prod-1", UID: "delivery", Generation: 3, Labels: map[string]string{metav1alpha1.LabelPolicy: "shop"},
	}}
	delivery.Spec.ClusterRef, delivery.Spec.SignerName = metav1alpha1.ClusterReference{Namespace: "acme", Name: "prod"}, signer
	return delivery
}

// newObserved is an observation of requests, each of them checked.
func newObserved(t testing.TB, p *policy, requests ...request) observation {
	t.Helper()
	return observation{
		now: now, namespace: "acme", delivery: testDelivery(), clusterID: "cluster", policy: p,
		requests: (&remembered{policy: p}).check(requests), made: map[string]certificateRequest{},
	}
}

// makes adds the CertificateRequest of a request, as old as is said.
func (o *observation) makes(r request, age time.Duration, status map[string]any) string {
	for _, one := range o.requests {
		if one.uid != r.uid {
			continue
		}
		name := certificateRequestName(o.delivery, o.clusterID, r, one.wanted, o.policy)
		object := desiredCertificateRequest(o.delivery, name, r, one.wanted, o.policy)
		object.Object["status"] = status
		o.made[name] = certificateRequest{name: name, uid: types.UID(name), created: o.now.Add(-age), object: object}
		return name
	}
	panic(fmt.Sprintf("request %s is not observed", r.name))
}

func condition(kind, status, reason string) map[string]any {
	return map[string]any{"type": kind, "status": status, "reason": reason, "message": "said by cert-manager"}
}

func statusOf(certificate, ca []byte, conditions ...any) map[string]any {
	return map[string]any{
		"conditions":  conditions,
		"certificate": base64.StdEncoding.EncodeToString(certificate), "ca": base64.StdEncoding.EncodeToString(ca),
	}
}

// publicOnly is a key whose other part is somewhere else.
type publicOnly struct{ public crypto.PublicKey }

func (k publicOnly) Public() crypto.PublicKey { return k.public }

// Sign implements crypto.Signer.
func (publicOnly) Sign(io.Reader, []byte, crypto.SignerOpts) ([]byte, error) {
	return nil, errors.New("the key is somewhere else")
}
