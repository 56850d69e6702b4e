package tenantcluster

import (
	"bytes"
	"crypto/x509"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/issuance/issuancetest"
	"github.com/daytwo-dev/daytwo/controllers/internal/kubeconfig"
	"github.com/daytwo-dev/daytwo/internal/listenertest"
)

// changed returns blue's kubeconfig with a change to its only cluster and user.
func changed(t *testing.T, change func(*clientcmdapi.Config, *clientcmdapi.Cluster, *clientcmdapi.AuthInfo)) []byte {
	t.Helper()
	config, err := clientcmd.Load(shared.blue.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	current := config.Contexts[config.CurrentContext]
	change(config, config.Clusters[current.Cluster], config.AuthInfos[current.AuthInfo])
	content, err := clientcmd.Write(*config)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func withCluster(t *testing.T, change func(*clientcmdapi.Cluster)) []byte {
	t.Helper()
	return changed(t, func(_ *clientcmdapi.Config, cluster *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) { change(cluster) })
}

func withUser(t *testing.T, change func(*clientcmdapi.AuthInfo)) []byte {
	t.Helper()
	return changed(t, func(_ *clientcmdapi.Config, _ *clientcmdapi.Cluster, user *clientcmdapi.AuthInfo) { change(user) })
}

func TestRefusedKubeconfigIsNamedInAConditionWithItsField(t *testing.T) {
	tenant := newTenant(t)
	cases := map[string]struct {
		kubeconfig []byte
		message    string
	}{
		"exec": {withUser(t, func(u *clientcmdapi.AuthInfo) {
			u.Exec = &clientcmdapi.ExecConfig{Command: "sh", APIVersion: "client.authentication.k8s.io/v1", InteractiveMode: "Never"}
		}), ".exec"},
		"auth-provider":     {withUser(t, func(u *clientcmdapi.AuthInfo) { u.AuthProvider = &clientcmdapi.AuthProviderConfig{Name: "oidc"} }), ".auth-provider"},
		"key-file":          {withUser(t, func(u *clientcmdapi.AuthInfo) { u.ClientKeyData, u.ClientKey = nil, "/etc/shadow" }), ".client-key"},
		"token-file":        {withUser(t, func(u *clientcmdapi.AuthInfo) { u.TokenFile = "/etc/shadow" }), ".tokenFile"},
		"ca-file":           {withCluster(t, func(c *clientcmdapi.Cluster) { c.CertificateAuthorityData, c.CertificateAuthority = nil, "/etc/ca" }), ".certificate-authority"},
		"insecure":          {withCluster(t, func(c *clientcmdapi.Cluster) { c.CertificateAuthorityData, c.InsecureSkipTLSVerify = nil, true }), ".insecure-skip-tls-verify"},
		"http":              {withCluster(t, func(c *clientcmdapi.Cluster) { c.Server = strings.Replace(c.Server, "https", "http", 1) }), ".server"},
		"proxy":             {withCluster(t, func(c *clientcmdapi.Cluster) { c.ProxyURL = "http://proxy.example" }), ".proxy-url"},
		"no-context":        {changed(t, func(c *clientcmdapi.Config, _ *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) { c.CurrentContext = "" }), "current-context"},
		"oversized":         {bytes.Repeat([]byte("#"), kubeconfig.MaxBytes+1), "more than 65536"},
		"unparsable":        {[]byte("clusters: ["), "cannot be read"},
		"secret-without-it": {nil, `has no key "value"`},
	}
	for name, c := range cases {
		tenant.imported(name, c.kubeconfig)
		if c.kubeconfig == nil {
			tenant.dropKey(name)
		}
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			tenant := *tenant
			tenant.T, tenant.ctx = t, t.Context()
			reason := tenancyv1alpha1.ReasonKubeconfigRefused
			if c.kubeconfig == nil {
				reason = tenancyv1alpha1.ReasonSecretNotFound
			}
			valid := tenant.waitFor(name, tenancyv1alpha1.ConditionKubeconfigValid, metav1.ConditionFalse, reason)
			if !strings.Contains(valid.Message, c.message) || !strings.Contains(valid.Message, name) {
				t.Errorf("the message does not name the Secret and %q: %s", c.message, valid.Message)
			}
			tenant.waitFor(name, metav1alpha1.ConditionReady, metav1.ConditionFalse, reason)
			tenant.waitFor(name, metav1alpha1.ConditionStalled, metav1.ConditionTrue, reason)
			tenant.waitFor(name, tenancyv1alpha1.ConditionConnected, metav1.ConditionFalse, tenancyv1alpha1.ReasonNoAccess)
		})
	}
}

func TestMissingSecretIsNamedAndTakenUpWhenItComes(t *testing.T) {
	tenant := newTenant(t)
	tenant.create(&tenancyv1alpha1.TenantCluster{
		ObjectMeta: metav1.ObjectMeta{Name: "prod"},
		Spec:       tenancyv1alpha1.TenantClusterSpec{KubeconfigRef: &tenancyv1alpha1.KubeconfigReference{Name: "later"}},
	})
	missing := tenant.waitFor("prod", tenancyv1alpha1.ConditionKubeconfigValid, metav1.ConditionFalse, tenancyv1alpha1.ReasonSecretNotFound)
	if !strings.Contains(missing.Message, "later") {
		t.Errorf("the message does not name the Secret: %s", missing.Message)
	}
	tenant.secret("later", shared.blue.Kubeconfig())
	tenant.waitReady("prod")
}

func TestClusterThatCannotBeReachedIsExplained(t *testing.T) {
	for name, c := range map[string]struct {
		kubeconfig []byte
		message    string
	}{
		"closed-port": {withCluster(t, func(c *clientcmdapi.Cluster) { c.Server = "https://" + listenertest.Closed(t) }), "nothing listens"},
		"silent":      {withCluster(t, func(c *clientcmdapi.Cluster) { c.Server = "https://" + listenertest.Silent(t) }), "no answer in time"},
		"wrong-ca": {withCluster(t, func(c *clientcmdapi.Cluster) {
			c.CertificateAuthorityData = issuancetest.Root(t, "another", func(ca *x509.Certificate) { ca.NotAfter = time.Now().Add(time.Hour) }).PEM()
		}), "not signed by the CA"},
	} {
		t.Run(name, func(t *testing.T) {
			tenant := newTenant(t)
			tenant.imported(name, c.kubeconfig)
			connected := tenant.waitFor(name, tenancyv1alpha1.ConditionConnected, metav1.ConditionFalse, tenancyv1alpha1.ReasonUnreachable)
			if !strings.Contains(connected.Message, c.message) {
				t.Errorf("got %q, want %q in it", connected.Message, c.message)
			}
			tenant.waitFor(name, metav1alpha1.ConditionReady, metav1.ConditionUnknown, metav1alpha1.ReasonClusterUnreachable)
		})
	}
}
