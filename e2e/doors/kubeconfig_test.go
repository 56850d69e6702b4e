package doors

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
)

// register makes a TenantCluster whose kubeconfig is that of the workload cluster, changed.
func register(t *testing.T, namespace, name string, change func(*clientcmdapi.Cluster)) *tenancyv1alpha1.TenantCluster {
	t.Helper()
	workload, err := env.Fleet.Cluster("workload-1")
	must(t, err)
	config, err := clientcmd.Load(workload.Kubeconfig())
	must(t, err)
	change(config.Clusters[config.Contexts[config.CurrentContext].Cluster])
	content, err := clientcmd.Write(*config)
	must(t, err)
	must(t, env.Admin.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string][]byte{"value": content}}))
	cluster := &tenancyv1alpha1.TenantCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       tenancyv1alpha1.TenantClusterSpec{KubeconfigRef: &tenancyv1alpha1.KubeconfigReference{Name: name, Key: "value"}},
	}
	must(t, env.Admin.Create(t.Context(), cluster))
	return cluster
}

func TestNoKubeconfigLeadsToTheManagersMachineOrTheMetadataOfACloud(t *testing.T) {
	must(t, client.IgnoreAlreadyExists(env.Admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: customer}})))
	own, err := url.Parse(env.Fleet.Management().Endpoint())
	must(t, err)
	leadsTo := func(server string) func(*clientcmdapi.Cluster) {
		return func(c *clientcmdapi.Cluster) { c.Server = server }
	}
	for name, change := range map[string]func(*clientcmdapi.Cluster){
		"metadata":        leadsTo("https://169.254.169.254"),
		"metadata-mapped": leadsTo("https://[::ffff:169.254.169.254]"),
		"metadata-named": func(c *clientcmdapi.Cluster) {
			c.Server, c.TLSServerName = "https://169.254.169.254:80", "metadata.internal"
		},
		"metadata-of-aws": leadsTo("https://[fd00:ec2::254]"),
		"metrics":         leadsTo("https://127.0.0.1:" + metricsPort),
		"metrics-by-name": leadsTo("https://localhost:" + metricsPort),
		"metrics-mapped":  leadsTo("https://[::ffff:127.0.0.1]:" + metricsPort),
		"metrics-any":     leadsTo("https://0.0.0.0:" + metricsPort),
		"management":      leadsTo("https://" + own.Host),
		"good-if-allowed": func(*clientcmdapi.Cluster) {},
		"by-proxy": func(c *clientcmdapi.Cluster) {
			c.Server, c.ProxyURL = "https://cluster.example", "http://localhost:"+metricsPort
		},
	} {
		for _, namespace := range []string{customer, "daytwo-system"} {
			t.Run(name+"/"+namespace, func(t *testing.T) {
				t.Parallel()
				cluster := register(t, namespace, name, change)
				expect.Eventually(t, "the address is refused", func(ctx context.Context) error {
					if err := env.Admin.Get(ctx, client.ObjectKeyFromObject(cluster), cluster); err != nil {
						return err
					}
					told := meta.FindStatusCondition(cluster.Status.Conditions, tenancyv1alpha1.ConditionConnected)
					if told == nil || told.Reason != tenancyv1alpha1.ReasonUnreachable || !strings.Contains(told.Message, "has an address that is not connected to") {
						return fmt.Errorf("the condition is %+v", told)
					}
					return nil
				})
				if cluster.Status.ClusterID != "" {
					t.Errorf("something answered: %s", cluster.Status.ClusterID)
				}
			})
		}
	}
}
