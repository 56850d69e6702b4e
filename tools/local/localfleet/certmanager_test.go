package localfleet_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/daytwo-dev/daytwo/tools/local/localfleet"
	"github.com/daytwo-dev/daytwo/tools/local/manifests"
)

// authority is a CA that signs itself, and what it issues from.
const authority = `
apiVersion: cert-manager.io/v1
kind: ClusterIssuer
metadata: {name: itself}
spec: {selfSigned: {}}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: authority, namespace: default}
spec: {isCA: true, commonName: authority, secretName: authority, issuerRef: {kind: ClusterIssuer, name: itself}}
---
apiVersion: cert-manager.io/v1
kind: Issuer
metadata: {name: authority, namespace: default}
spec: {ca: {secretName: authority}}
`

const leaf = `
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: %[1]s, namespace: default}
spec: {dnsNames: [%[1]s.example.com], secretName: %[1]s, issuerRef: {name: authority}}
`

func TestCertManager(t *testing.T) {
	t.Parallel()
	options := bare(t.TempDir(), 0)
	options.CertManager = true
	fleet := startFleet(t, options)
	applyText(t, fleet, authority)
	applyText(t, fleet, fmt.Sprintf(leaf, "before"))
	expectIssued(t, fleet, "before")

	if err := fleet.KillCertManager(t.Context()); err != nil {
		t.Fatal(err)
	}
	applyText(t, fleet, fmt.Sprintf(leaf, "meanwhile"))
	if err := fleet.StartCertManager(t.Context()); err != nil {
		t.Fatal(err)
	}
	expectIssued(t, fleet, "meanwhile")
}

func applyText(t *testing.T, fleet *localfleet.Fleet, text string) {
	t.Helper()
	objects, err := manifests.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := manifests.Apply(t.Context(), fleet.Management().Config(), objects); err != nil {
		t.Fatal(err)
	}
}

// expectIssued waits for a certificate, and has a client verify what a server would present.
func expectIssued(t *testing.T, fleet *localfleet.Fleet, name string) {
	t.Helper()
	certificates := dynamic.NewForConfigOrDie(fleet.Management().Config()).
		Resource(schema.GroupVersionResource{Group: "cert-manager.io", Version: "v1", Resource: "certificates"}).Namespace("default")
	soon(t, func(ctx context.Context) (bool, error) {
		found, err := certificates.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		list, _, _ := unstructured.NestedSlice(found.Object, "status", "conditions")
		for _, one := range list {
			if condition := one.(map[string]any); condition["type"] == "Ready" && condition["status"] == "True" {
				return true, nil
			}
		}
		return false, nil
	}, func() string { return "the Certificate " + name + " is not Ready" })
	secret, err := kubernetes.NewForConfigOrDie(fleet.Management().Config()).CoreV1().Secrets("default").Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(secret.Data["tls.crt"], secret.Data["tls.key"])
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(secret.Data["ca.crt"]) {
		t.Fatalf("ca.crt holds no certificate: %s", base64.StdEncoding.EncodeToString(secret.Data["ca.crt"]))
	}
	if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: name + ".example.com"}); err != nil {
		t.Error(err)
	}
}
