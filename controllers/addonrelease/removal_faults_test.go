package addonrelease

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/kubeconfig"
	"github.com/daytwo-dev/daytwo/e2e/faults"
)

// behindProxy connects the rival's cluster as another TenantCluster, by way of a proxy.
func behindProxy(t *testing.T, name string) (*faults.Proxy, client.Client) {
	t.Helper()
	direct, err := client.New(shared.rivalConfig, client.Options{Scheme: shared.workload.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	tenant := &tenancyv1alpha1.TenantCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec:       tenancyv1alpha1.TenantClusterSpec{KubeconfigRef: &tenancyv1alpha1.KubeconfigReference{Name: "access"}},
	}
	if err := shared.management.Create(t.Context(), tenant); err != nil {
		t.Fatal(err)
	}
	meta.SetStatusCondition(&tenant.Status.Conditions, metav1.Condition{Type: tenancyv1alpha1.ConditionConnected, Status: metav1.ConditionTrue, Reason: "Test"})
	if err := shared.management.Status().Update(t.Context(), tenant); err != nil {
		t.Fatal(err)
	}
	proxy := faults.Start(t, shared.rivalConfig)
	access, err := kubeconfig.Parse(proxy.Kubeconfig(), kubeconfig.Options{})
	if err != nil {
		t.Fatal(err)
	}
	system := &corev1.Namespace{}
	if err := direct.Get(t.Context(), client.ObjectKey{Name: metav1.NamespaceSystem}, system); err != nil {
		t.Fatal(err)
	}
	key := types.NamespacedName{Namespace: "default", Name: name}
	shared.connections.Connect(key, access)
	t.Cleanup(func() { shared.connections.Forget(key) })
	if err := shared.connections.Admit(key, system.UID); err != nil {
		t.Fatal(err)
	}
	return proxy, direct
}

func TestNothingIsLeftOfDeletionsThatWereAnsweredWithoutEffect(t *testing.T) {
	t.Parallel()
	proxy, direct := behindProxy(t, "unreliable")
	rows := map[string]faults.Action{
		"Garbage":      faults.Garbage(),
		"AConflict":    faults.Conflict(),
		"NotFound":     faults.NotFound(),
		"ALostAnswer":  faults.LoseAnswer(),
		"ServerErrors": faults.InternalError(),
	}
	// Subtests that run in parallel end after the function that started them; the proxy has to be there still.
	t.Run("Of", func(t *testing.T) {
		for name, action := range rows {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				a := newAddon(t, fmt.Sprintf(oneConfigMap, "one"), func(spec *addonsv1alpha1.AddonReleaseSpec) { spec.ClusterRef.Name = "unreliable" })
				a.waitReady()
				configMap := a.configMap("one")
				if err := direct.Get(t.Context(), client.ObjectKeyFromObject(configMap), configMap); err != nil {
					t.Fatal(err)
				}
				fault := proxy.Inject(faults.Rule{
					Match: faults.Match{Verbs: []string{"delete"}, Resources: []string{"configmaps"}, Namespaces: []string{a.namespace}}, Times: 2, Action: action,
				})
				a.delete()
				a.waitReleased()
				if err := direct.Get(t.Context(), client.ObjectKeyFromObject(configMap), configMap); !apierrors.IsNotFound(err) {
					t.Errorf("the release is gone, and its ConfigMap is there: %v", err)
				}
				if fault.Count() == 0 {
					t.Error("no deletion met the fault")
				}
			})
		}
	})
}
