package order

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/daytwo-dev/daytwo/apis"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
)

// thief has a server that keeps the tokens it is sent, and a kubeconfig that sends the content of a file of the reader's there.
type thief struct {
	kubeconfig []byte

	mu     sync.Mutex
	caught []string
}

const stolen = "the-token-of-cluster-api"

func newThief(t *testing.T) *thief {
	t.Helper()
	thief := &thief{}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		thief.mu.Lock()
		defer thief.mu.Unlock()
		thief.caught = append(thief.caught, request.Header.Get("Authorization"))
		w.WriteHeader(http.StatusForbidden)
	}))
	t.Cleanup(server.Close)
	token := filepath.Join(t.TempDir(), "token")
	must(t, os.WriteFile(token, []byte(stolen), 0o600))
	thief.kubeconfig = fmt.Appendf(nil, `{apiVersion: v1, kind: Config, current-context: a,
clusters: [{name: a, cluster: {server: %q, insecure-skip-tls-verify: true}}],
users: [{name: a, user: {tokenFile: %q}}],
contexts: [{name: a, context: {cluster: a, user: a}}]}`, server.URL, token)
	return thief
}

// took is whether the token came.
func (t *thief) took() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Contains(strings.Join(t.caught, " "), stolen)
}

// requests is how many came at all.
func (t *thief) requests() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.caught)
}

// bait is a Secret that looks like Cluster API's own.
func (t *thief) bait(namespace, cluster string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: cluster + "-kubeconfig", Labels: map[string]string{clusterv1.ClusterNameLabel: cluster}},
		Type:       clusterv1.ClusterSecretType, Data: map[string][]byte{"value": t.kubeconfig},
	}
}

// asCustomer is a client with the rights of a customer's people in their namespace.
func (c *customer) asCustomer() client.Client {
	c.Helper()
	user := "dev@" + c.namespace
	must(c, env.Admin.Create(c.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: "customer"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "daytwo-customer"},
	}))
	config := rest.CopyConfig(env.Fleet.Management().Config())
	config.Impersonate = rest.ImpersonationConfig{UserName: user}
	theirs, err := client.New(config, client.Options{Scheme: apis.NewScheme()})
	must(c, err)
	expect.Eventually(c, "the customer has the rights of the role", func(ctx context.Context) error {
		return theirs.List(ctx, &tenancyv1alpha1.TenantClusterList{}, inNamespace(c.namespace))
	})
	return theirs
}

// The customer makes the kubeconfig first, and then orders the cluster of that name. Cluster API never looks at it.
func TestAKubeconfigThatACustomerPreparedIsNeverUsedByClusterAPI(t *testing.T) {
	t.Parallel()
	c, thief := newCustomer(t), newThief(t)
	theirs := c.asCustomer()
	must(t, theirs.Create(t.Context(), thief.bait(c.namespace, "prod")))
	must(t, theirs.Create(t.Context(), c.order("prod")))
	c.awaitReady("prod")
	expect.Eventually(t, "Cluster API is connected to the cluster", func(ctx context.Context) error {
		return expect.Condition(c.cluster(ctx, "prod").Status.Conditions, clusterv1.ClusterRemoteConnectionProbeCondition, metav1.ConditionTrue, "")
	})
	if requests := thief.requests(); requests > 0 {
		t.Errorf("somebody used the kubeconfig, %d times", requests)
	}
	for name, err := range map[string]error{
		"a kubeconfig beside the Cluster": theirs.Create(t.Context(), thief.bait(c.clusters(), "other")),
		"the kubeconfig of the Cluster":   theirs.Update(t.Context(), thief.bait(c.clusters(), "prod")),
		"reading it":                      theirs.Get(t.Context(), client.ObjectKey{Namespace: c.clusters(), Name: "prod-kubeconfig"}, &corev1.Secret{}),
		"the Cluster itself":              theirs.Delete(t.Context(), c.cluster(t.Context(), "prod")),
	} {
		if !apierrors.IsForbidden(err) {
			t.Errorf("%s is not forbidden: %v", name, err)
		}
	}
}

// This is what the namespaces for Clusters are for.
func TestClusterAPIBelievesAKubeconfigBesideACluster(t *testing.T) {
	t.Parallel()
	c, thief := newCustomer(t), newThief(t)
	c.create(thief.bait(c.namespace, "prod"))
	// The provider of the local fleet would replace the kubeconfig: the infrastructure is said to be there, and nobody makes it.
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: "prod"}}
	cluster.Spec.ControlPlaneEndpoint = clusterv1.APIEndpoint{Host: "127.0.0.1", Port: 6443}
	cluster.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: "infrastructure.local.daytwo.dev", Kind: "LocalCluster", Name: "nobody"}
	c.create(cluster)
	must(t, env.Admin.Status().Patch(t.Context(), cluster, mergePatch(`{"status":{"initialization":{"infrastructureProvisioned":true}}}`)))
	t.Cleanup(func() { must(t, env.Admin.Delete(context.Background(), cluster)) })
	expect.Eventually(t, "Cluster API sends its token", func(ctx context.Context) error {
		if thief.took() {
			return nil
		}
		if err := env.Admin.Get(ctx, client.ObjectKeyFromObject(cluster), cluster); err != nil {
			return err
		}
		return errors.New(expect.Describe(cluster.Status.Conditions))
	})
}

func TestAnOrderThatReachesForMoreIsRefused(t *testing.T) {
	t.Parallel()
	c := newCustomer(t)
	theirs := c.asCustomer()
	for what, wrong := range map[string]struct {
		change func(*tenancyv1alpha1.ClusterTopology)
		says   string
	}{
		"a class of their own": {func(order *tenancyv1alpha1.ClusterTopology) { order.ClassRef.Namespace = c.namespace }, "--class-namespaces"},
		"a label that binds the Cluster to another one": {func(order *tenancyv1alpha1.ClusterTopology) {
			order.Metadata.Labels = map[string]string{clusterv1.ClusterNameLabel: "theirs"}
		}, "instructions to Cluster API"},
		"an annotation that pauses machines": {func(order *tenancyv1alpha1.ClusterTopology) {
			order.ControlPlane.Metadata.Annotations = map[string]string{"machine.cluster.x-k8s.io/skip-remediation": ""}
		}, "instructions to Cluster API"},
	} {
		order := c.order("prod")
		wrong.change(order.Spec.Topology)
		if err := theirs.Create(t.Context(), order, client.DryRunAll); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), wrong.says) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
