package narrow

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
)

func TestACustomerInANamespaceWithTheRoleBindingIsServed(t *testing.T) {
	t.Parallel()
	must(t, env.Register(t.Context(), bound, "workload-1", nil))
	must(t, env.Admin.Create(t.Context(), newAddon(bound, "workload-1")))
	awaitServed(t, bound, "workload-1")
}

func TestACustomerInANamespaceThatIsNotListedIsTold(t *testing.T) {
	t.Parallel()
	// The same cluster as another customer's, since nobody gets as far as to look.
	must(t, env.Register(t.Context(), unlisted, "workload-1", nil))
	must(t, env.Admin.Create(t.Context(), newAddon(unlisted, "workload-1")))
	for _, object := range declared(unlisted, "workload-1") {
		awaitTold(t, object, "namespace "+unlisted, "--secret-namespaces", "kubectl create rolebinding daytwo-secrets --namespace="+unlisted)
	}
}

// The manager is ready without the RoleBinding, and needs no start once it is there.
func TestACustomerWhoseRoleBindingIsMissingIsServedOnceItIsMade(t *testing.T) {
	t.Parallel()
	must(t, env.Register(t.Context(), unbound, "workload-2", nil))
	must(t, env.Admin.Create(t.Context(), newAddon(unbound, "workload-2")))
	for _, object := range declared(unbound, "workload-2") {
		awaitTold(t, object, "namespace "+unbound, "RoleBinding daytwo-secrets is missing", "kubectl create rolebinding daytwo-secrets --namespace="+unbound)
	}
	must(t, env.Admin.Create(t.Context(), binding(unbound)))
	awaitServed(t, unbound, "workload-2")
}

func newAddon(namespace, cluster string) *addonsv1alpha1.SaaSAddon {
	return &addonsv1alpha1.SaaSAddon{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "settings"},
		Spec: addonsv1alpha1.SaaSAddonSpec{
			PolicySpec: metav1alpha1.PolicySpec{ClusterNames: []string{cluster}}, Namespace: "default",
			Source: addonsv1alpha1.AddonSource{Manifests: &addonsv1alpha1.ManifestSource{
				Inline: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {of: " + namespace + "}\n",
			}},
		},
	}
}

// declared is what a customer wrote.
func declared(namespace, cluster string) []client.Object {
	return []client.Object{
		&tenancyv1alpha1.TenantCluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: cluster}},
		&addonsv1alpha1.SaaSAddon{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "settings"}},
	}
}

func awaitServed(t *testing.T, namespace, cluster string) {
	t.Helper()
	for _, object := range declared(namespace, cluster) {
		expect.Eventually(t, fmt.Sprintf("%T of %s is ready", object, namespace), func(ctx context.Context) error {
			if err := env.Admin.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
				return err
			}
			return expect.Condition(conditionsOf(object), metav1alpha1.ConditionReady, metav1.ConditionTrue, "")
		})
	}
	workload, err := env.Workload(cluster)
	must(t, err)
	config := &corev1.ConfigMap{}
	must(t, workload.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "settings"}, config))
	if config.Data["of"] != namespace {
		t.Errorf("the cluster of %s has %v", namespace, config.Data)
	}
}

func awaitTold(t *testing.T, object client.Object, words ...string) {
	t.Helper()
	expect.Eventually(t, fmt.Sprintf("%T of %s tells that Secrets cannot be read", object, object.GetNamespace()), func(ctx context.Context) error {
		if err := env.Admin.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		list := conditionsOf(object)
		for kind, status := range map[string]metav1.ConditionStatus{metav1alpha1.ConditionReady: metav1.ConditionFalse, metav1alpha1.ConditionStalled: metav1.ConditionTrue} {
			if err := expect.Condition(list, kind, status, metav1alpha1.ReasonSecretsNotReadable); err != nil {
				return err
			}
		}
		message := meta.FindStatusCondition(list, metav1alpha1.ConditionReady).Message
		for _, word := range words {
			if !strings.Contains(message, word) {
				t.Errorf("%T of %s does not say %q: %s", object, object.GetNamespace(), word, message)
			}
		}
		return nil
	})
}

func conditionsOf(object client.Object) []metav1.Condition {
	switch object := object.(type) {
	case *tenancyv1alpha1.TenantCluster:
		return object.Status.Conditions
	case *addonsv1alpha1.SaaSAddon:
		return object.Status.Conditions
	}
	return nil
}
