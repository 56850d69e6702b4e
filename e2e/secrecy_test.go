package e2e

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/internal/listenertest"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
)

// canary is a word that must not be seen anywhere but where somebody put it.
const canary = "c4n4ry-5ecret"

const canarySecret = "apiVersion: v1\nkind: Secret\nmetadata: {name: %s}\n"

// badSecrets are manifests of Secrets that fail, each at another place: before any cluster gets them, or in the cluster.
var badSecrets = map[string]struct{ text, reason string }{
	"no-base64":      {"data: {password: " + canary + "}\n", metav1alpha1.ReasonTargetsFailed},
	"no-map":         {"data: " + canary + "\n", metav1alpha1.ReasonTargetsFailed},
	"string-no-map":  {"stringData: " + canary + "\n", metav1alpha1.ReasonContentInvalid},
	"a-list":         {"stringData: {password: [" + canary + "]}\n", metav1alpha1.ReasonContentInvalid},
	"invalid-yaml":   {"stringData: {password: " + canary + "\nnext: *" + canary + "\n", metav1alpha1.ReasonContentInvalid},
	"a-type":         {"type: kubernetes.io/tls\nstringData: {tls.crt: " + canary + "}\n", metav1alpha1.ReasonTargetsFailed},
	"an-entry":       {"stringData: {password: " + canary + "}\nextra: " + canary + "\n", metav1alpha1.ReasonTargetsFailed},
	"a-template":     {"stringData: {password: '{{ int \"" + canary + "\" | fail }}'}\n", metav1alpha1.ReasonContentInvalid},
	"a-failing-json": {"stringData: {password: '{{ fromJson \"" + canary + "\" }}'}\n", metav1alpha1.ReasonContentInvalid},
}

func TestSecretsNeverShow(t *testing.T) {
	t.Parallel()
	c := newCustomer(t, 0, 1)
	cluster := c.clusters.bare[0]
	token := c.useToken(cluster)

	good := c.install("good", fmt.Sprintf(canarySecret, "good")+"stringData: {password: "+canary+"}\n")
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "good"}}
	edit(t, c.workload(cluster), secret, func(s *corev1.Secret) { s.Data["password"] = []byte(canary + "-edited") })
	c.awaitRelease(good, cluster, "the drift is told", func(release *addonsv1alpha1.AddonRelease) error {
		if release.Status.Drift.Count == 0 {
			return fmt.Errorf("no correction")
		}
		return says(fmt.Sprint(release.Status.Drift.Corrections), "password", "kubectl-edit")
	})
	for name, bad := range badSecrets {
		addon := c.newAddon(name, fmt.Sprintf(canarySecret, name)+bad.text)
		must(t, env.Admin.Create(t.Context(), addon))
	}
	for name, bad := range badSecrets {
		c.awaitAddonCondition(c.newAddon(name, ""), metav1alpha1.ConditionReady, metav1.ConditionFalse, bad.reason)
	}
	for name, content := range badAccess(t, cluster) {
		c.createAccess(name, content)
		c.awaitRefusal(name)
	}
	c.expectUnseen(canary, token)
}

// awaitRefusal waits until a TenantCluster says why it is not connected.
func (c *customer) awaitRefusal(name string) {
	c.Helper()
	expect.Eventually(c, "TenantCluster "+name+" says why it is not connected", func(ctx context.Context) error {
		cluster := &tenancyv1alpha1.TenantCluster{}
		if err := env.Admin.Get(ctx, client.ObjectKey{Namespace: c.namespace, Name: name}, cluster); err != nil {
			return err
		}
		return expect.Condition(cluster.Status.Conditions, tenancyv1alpha1.ConditionConnected, metav1.ConditionFalse, "")
	})
}

// useToken makes the customer's cluster be reached with a token that works, and returns it.
func (c *customer) useToken(cluster string) string {
	c.Helper()
	workload, ctx := c.workload(cluster), c.Context()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "daytwo-access"}}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: account.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: account.Namespace, Name: account.Name}},
	}
	must(c, client.IgnoreAlreadyExists(workload.Create(ctx, account)))
	must(c, client.IgnoreAlreadyExists(workload.Create(ctx, binding)))
	request := &authenticationv1.TokenRequest{}
	must(c, workload.SubResource("token").Create(ctx, account, request))

	access := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: cluster + "-kubeconfig"}}
	must(c, env.Admin.Get(ctx, client.ObjectKeyFromObject(access), access))
	access.Data["value"] = kubeconfigOf(c, cluster, func(k *clientcmdapi.Config) {
		*user(k) = clientcmdapi.AuthInfo{Token: request.Status.Token}
	})
	must(c, env.Admin.Update(ctx, access))
	return request.Status.Token
}

// badAccess are kubeconfigs that fail, each at another place.
func badAccess(t testing.TB, cluster string) map[string][]byte {
	with := func(change func(*clientcmdapi.Config)) []byte { return kubeconfigOf(t, cluster, change) }
	return map[string][]byte{
		"unauthorized": with(func(k *clientcmdapi.Config) { *user(k) = clientcmdapi.AuthInfo{Token: canary} }),
		"closed-port": with(func(k *clientcmdapi.Config) {
			*user(k) = clientcmdapi.AuthInfo{Token: canary}
			server(k).Server = "https://" + listenertest.Closed(t)
		}),
		"in-the-url": with(func(k *clientcmdapi.Config) { server(k).Server = "https://me:" + canary + "@127.0.0.1" }),
		"no-url":     with(func(k *clientcmdapi.Config) { server(k).Server = "https://me:" + canary + "@127.0.0.1:%zz/" }),
		"password":   with(func(k *clientcmdapi.Config) { *user(k) = clientcmdapi.AuthInfo{Username: "me", Password: canary} }),
		"exec": with(func(k *clientcmdapi.Config) {
			user(k).Exec = &clientcmdapi.ExecConfig{Command: "aws", Args: []string{canary}, APIVersion: "client.authentication.k8s.io/v1", InteractiveMode: "Never"}
		}),
		"key-data":     with(func(k *clientcmdapi.Config) { user(k).ClientKeyData = []byte(canary) }),
		"no-list":      []byte("apiVersion: v1\nkind: Config\nusers: " + canary + "\n"),
		"no-structure": []byte("apiVersion: v1\nkind: Config\nusers: [{name: a, user: " + canary + "}]\n"),
		"invalid-yaml": []byte("token: " + canary + "\n\t- *" + canary),
	}
}

// expectUnseen looks for words, as they are and as base64, wherever the manager tells of anything.
func (c *customer) expectUnseen(words ...string) {
	c.Helper()
	for where, text := range c.everythingTold() {
		for _, word := range words {
			for _, form := range []string{word, base64.StdEncoding.EncodeToString([]byte(word))} {
				if at := strings.Index(text, form); at >= 0 {
					c.Errorf("%s tells a secret: …%s…", where, text[max(0, at-300):min(len(text), at+100)])
				}
			}
		}
	}
}

func (c *customer) everythingTold() map[string]string {
	c.Helper()
	told := map[string]string{"the log": logged(c), "the metrics": c.metricsText()}
	for _, list := range []client.ObjectList{
		&addonsv1alpha1.SaaSAddonList{}, &addonsv1alpha1.AddonReleaseList{}, &tenancyv1alpha1.TenantClusterList{},
		&eventsv1.EventList{}, &corev1.EventList{},
	} {
		must(c, env.Admin.List(c.Context(), list, client.InNamespace(c.namespace)))
		for _, object := range objectsOf(c, list) {
			if addon, written := object.(*addonsv1alpha1.SaaSAddon); written {
				addon.Spec, addon.ManagedFields = addonsv1alpha1.SaaSAddonSpec{}, nil // Its author wrote it there.
			}
			text, err := json.Marshal(object)
			must(c, err)
			told[fmt.Sprintf("%T %s", object, object.GetName())] = string(text)
		}
	}
	return told
}

func (c *customer) metricsText() string {
	c.Helper()
	request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, env.Manager.MetricsURL(), nil)
	must(c, err)
	response, err := http.DefaultClient.Do(request)
	must(c, err)
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	must(c, err)
	return string(text)
}

// logged is what the manager logged, over all its starts.
func logged(t testing.TB) string {
	t.Helper()
	content, err := os.ReadFile(env.Manager.LogPath())
	must(t, err)
	return string(content)
}
