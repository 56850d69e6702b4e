package tenantcluster

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/issuance/issuancetest"
)

// Go's error says what time it is, which is another one in each attempt.
func TestAClusterThatStaysBrokenCostsNoWriteAfterTheFirst(t *testing.T) {
	tenant := newTenant(t)
	address, ca, attempts := expiredServer(t)
	tenant.imported("expired", withCluster(t, func(c *clientcmdapi.Cluster) {
		c.Server, c.CertificateAuthorityData = "https://"+address, ca
	}))
	connected := tenant.waitFor("expired", tenancyv1alpha1.ConditionConnected, metav1.ConditionFalse, tenancyv1alpha1.ReasonUnreachable)
	if !strings.Contains(connected.Message, "the server's certificate is not valid") {
		t.Fatalf("the condition says %q", connected.Message)
	}
	before, first := tenant.get("expired"), attempts.Load()
	// The first two of these have been reported when the third is made.
	tenant.eventually("three more attempts were made", func() (string, bool) { return "", attempts.Load() >= first+3 })
	if after := tenant.get("expired"); after.ResourceVersion != before.ResourceVersion {
		t.Errorf("the TenantCluster was written again: it said %+v, and now %+v", before.Status.Conditions, after.Status.Conditions)
	}
}

// expiredServer has a certificate that was valid until yesterday, and counts the connections to it.
func expiredServer(t *testing.T) (address string, ca []byte, attempts *atomic.Int32) {
	t.Helper()
	issued := issuancetest.Root(t, "expired", func(c *x509.Certificate) {
		c.NotBefore, c.NotAfter = time.Now().AddDate(0, 0, -30), time.Now().AddDate(0, 0, -1)
		c.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
		c.KeyUsage |= x509.KeyUsageDigitalSignature
		c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	})
	attempts = &atomic.Int32{}
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.TLS = &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{issued.Raw}, PrivateKey: issued.Key}}, NextProtos: []string{"h2"}, MinVersion: tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			attempts.Add(1)
			return nil, nil
		},
	}
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.Listener.Addr().String(), issued.PEM(), attempts
}
