package localfleet_test

import (
	"crypto/tls"
	"crypto/x509"
	"path/filepath"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/daytwo-dev/daytwo/tools/local/localfleet"
	"github.com/daytwo-dev/daytwo/tools/local/manifests"
)

const webhookConfiguration = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: orders}
webhooks:
- name: orders.example.org
  admissionReviewVersions: [v1]
  sideEffects: None
  failurePolicy: Ignore
  clientConfig:
    service: {namespace: daytwo-system, name: webhook, path: /validate}
  rules: [{apiGroups: [example.org], apiVersions: [v1], operations: [CREATE], resources: [orders]}]
`

// testManagerServesWebhooks looks at what an API server and a manager are told, and whether they can meet.
func testManagerServesWebhooks(t *testing.T, fleet *localfleet.Fleet) {
	configurations, err := manifests.Parse([]byte(webhookConfiguration))
	if err != nil {
		t.Fatal(err)
	}
	where, err := fleet.InstallWebhooks(t.Context(), configurations)
	if err != nil {
		t.Fatal(err)
	}
	client := kubernetes.NewForConfigOrDie(fleet.Management().Config())
	live, err := client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(t.Context(), "orders", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	asks := live.Webhooks[0].ClientConfig
	if asks.Service != nil || asks.URL == nil || *asks.URL != "https://"+where.Address+"/validate" {
		t.Errorf("the API server asks %+v, and the manager is to serve %s", asks, where.Address)
	}
	pair, err := tls.LoadX509KeyPair(filepath.Join(where.CertDir, "tls.crt"), filepath.Join(where.CertDir, "tls.key"))
	if err != nil {
		t.Fatal(err)
	}
	authority := x509.NewCertPool()
	authority.AppendCertsFromPEM(asks.CABundle)
	if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: authority, DNSName: "127.0.0.1"}); err != nil {
		t.Errorf("the API server does not trust the manager: %v", err)
	}
	startManager(t, fleet, "0")
	if again, err := fleet.InstallWebhooks(t.Context(), nil); err != nil || again != where {
		t.Errorf("with the manager the webhooks moved from %v to %v: %v", where, again, err)
	}
}
