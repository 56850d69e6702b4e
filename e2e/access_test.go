package e2e

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/internal/listenertest"
)

func testTenantClusterConditions(t *testing.T) {
	t.Parallel()
	c := newCustomer(t, 0, 0)
	valid, connected := tenancyv1alpha1.ConditionKubeconfigValid, tenancyv1alpha1.ConditionConnected
	refused, unreachable := tenancyv1alpha1.ReasonKubeconfigRefused, tenancyv1alpha1.ReasonUnreachable
	silent := listenertest.Silent(t)
	for _, row := range []struct {
		name, condition, reason string
		change                  func(*clientcmdapi.Config)
		says                    []string
	}{
		{"exec", valid, refused, func(k *clientcmdapi.Config) {
			user(k).Exec = &clientcmdapi.ExecConfig{APIVersion: "client.authentication.k8s.io/v1", Command: "aws", InteractiveMode: "Never"}
		}, []string{"Secret exec-access", "users[", ".exec", "embed"}},
		{"insecure", valid, refused, func(k *clientcmdapi.Config) {
			server(k).InsecureSkipTLSVerify, server(k).CertificateAuthorityData = true, nil
		}, []string{"insecure-skip-tls-verify", "certificate-authority-data"}},
		{"closed-port", connected, unreachable, func(k *clientcmdapi.Config) { server(k).Server = "https://" + listenertest.Closed(t) },
			[]string{"refused"}},
		{"silent", connected, unreachable, func(k *clientcmdapi.Config) { server(k).Server = "https://" + silent },
			[]string{"https://" + silent, "no answer in time"}},
		{"management", connected, unreachable, func(k *clientcmdapi.Config) {
			// The manager's own way there is a proxy.
			management, err := clientcmd.Load(toManagement.Kubeconfig())
			must(t, err)
			*server(k) = *server(management)
		}, []string{"has an address that is not connected to"}},
		{"metrics", connected, unreachable, func(k *clientcmdapi.Config) {
			server(k).Server = "https" + strings.TrimSuffix(strings.TrimPrefix(env.Manager.MetricsURL(), "http"), "/metrics")
		}, []string{"what answers there, if anything does, is no Kubernetes API server"}},
		{"other-ca", connected, unreachable, func(k *clientcmdapi.Config) {
			other, err := clientcmd.Load(env.Fleet.Management().Kubeconfig())
			must(t, err)
			server(k).CertificateAuthorityData = server(other).CertificateAuthorityData
		}, []string{"certificate"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := c.in(t)
			c.createAccess(row.name, kubeconfigOf(t, "workload-1", row.change))
			c.awaitCluster(row.name, row.condition, metav1.ConditionFalse, row.reason, row.says...)
		})
	}
	t.Run("OthersAreUnaffected", func(t *testing.T) {
		other := newCustomer(t, 0, 1)
		other.install("unaffected", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: unaffected}\n")
	})
	t.Run("AMissingSecret", func(t *testing.T) {
		c := c.in(t)
		must(t, env.Admin.Create(t.Context(), c.tenantCluster("missing")))
		c.awaitCluster("missing", valid, metav1.ConditionFalse, tenancyv1alpha1.ReasonSecretNotFound, "Secret missing-access", "create it")
	})
	t.Run("ARegisteredCluster", func(t *testing.T) {
		c := c.in(t)
		first := newCustomer(t, 0, 1)
		c.createAccess("second", fleetCluster(t, first.clusters.bare[0]).Kubeconfig())
		c.awaitCluster("second", tenancyv1alpha1.ConditionIdentityConflict, metav1.ConditionTrue, tenancyv1alpha1.ReasonAlreadyRegistered)
		first.awaitCluster(first.clusters.bare[0], metav1alpha1.ConditionReady, metav1.ConditionTrue, "")
	})
}

// kubeconfigOf is a cluster's, changed.
func kubeconfigOf(t testing.TB, cluster string, change func(*clientcmdapi.Config)) []byte {
	t.Helper()
	config, err := clientcmd.Load(fleetCluster(t, cluster).Kubeconfig())
	must(t, err)
	change(config)
	content, err := clientcmd.Write(*config)
	must(t, err)
	return content
}

func server(config *clientcmdapi.Config) *clientcmdapi.Cluster {
	return config.Clusters[config.Contexts[config.CurrentContext].Cluster]
}

func user(config *clientcmdapi.Config) *clientcmdapi.AuthInfo {
	return config.AuthInfos[config.Contexts[config.CurrentContext].AuthInfo]
}

func (c *customer) tenantCluster(name string) *tenancyv1alpha1.TenantCluster {
	return &tenancyv1alpha1.TenantCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: name},
		Spec:       tenancyv1alpha1.TenantClusterSpec{KubeconfigRef: &tenancyv1alpha1.KubeconfigReference{Name: name + "-access", Key: "value"}},
	}
}

// createAccess makes a TenantCluster with a kubeconfig.
func (c *customer) createAccess(name string, content []byte) {
	c.Helper()
	must(c, env.Admin.Create(c.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: name + "-access"}, Data: map[string][]byte{"value": content},
	}))
	must(c, env.Admin.Create(c.Context(), c.tenantCluster(name)))
}
