package tenantcluster

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/clusterapi"
)

// issued returns a kubeconfig of blue with a certificate of its own.
func issued(t *testing.T, ttl time.Duration) []byte {
	t.Helper()
	content, err := shared.blue.KubeconfigFor("operator-"+string(uuid.NewUUID()), []string{"system:masters"}, ttl)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func TestChangedSecretSwapsTheConnection(t *testing.T) {
	tenant := newTenant(t)
	tenant.imported("prod", issued(t, 100*24*time.Hour))
	tenant.waitReady("prod")
	before, _ := shared.connections.Get(tenant.key("prod"))

	tenant.secret("prod", issued(t, 200*24*time.Hour))
	tenant.eventually("another connection is in use", func() (string, bool) {
		after, ok := shared.connections.Get(tenant.key("prod"))
		return "", ok && after != before
	})
	tenant.eventually("the new certificate's end is in status", func() (string, bool) {
		expires := tenant.get("prod").Status.KubeconfigExpiresAt
		return expires.String(), expires != nil && time.Until(expires.Time) > 150*24*time.Hour
	})
	tenant.waitReady("prod")
}

func TestExpiringCertificateIsAnnounced(t *testing.T) {
	tenant := newTenant(t)
	// The warning comes while the test waits for it.
	tenant.imported("prod", issued(t, expiryWarning+5*time.Second))
	tenant.waitReady("prod")
	expiring := tenant.waitFor("prod", tenancyv1alpha1.ConditionCredentialsExpiring, metav1.ConditionTrue, tenancyv1alpha1.ReasonExpiresSoon)
	if !strings.Contains(expiring.Message, "Secret prod") {
		t.Errorf("the message does not name the Secret: %s", expiring.Message)
	}
	tenant.secret("prod", issued(t, 100*24*time.Hour))
	tenant.eventually("the warning goes with a new certificate", func() (string, bool) {
		conditions := tenant.get("prod").Status.Conditions
		return "", meta.FindStatusCondition(conditions, tenancyv1alpha1.ConditionCredentialsExpiring) == nil
	})
}

func TestDeadAPIServerIsNoticedAndRecoversByItself(t *testing.T) {
	tenant := newTenant(t)
	tenant.imported("prod", shared.green.Kubeconfig())
	tenant.waitReady("prod")

	if err := shared.green.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	tenant.waitFor("prod", tenancyv1alpha1.ConditionConnected, metav1.ConditionFalse, tenancyv1alpha1.ReasonUnreachable)
	tenant.waitFor("prod", metav1alpha1.ConditionReady, metav1.ConditionUnknown, metav1alpha1.ReasonClusterUnreachable)
	if _, ok := shared.connections.Get(tenant.key("prod")); ok {
		t.Error("the dead cluster is handed out")
	}
	if err := shared.green.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	tenant.waitReady("prod")
}

func TestClusterRefIsServedAsSoonAsClusterAPIIsInstalled(t *testing.T) {
	tenant := newTenant(t)
	tenant.secret("prod-kubeconfig", shared.blue.Kubeconfig())
	tenant.create(&tenancyv1alpha1.TenantCluster{
		ObjectMeta: metav1.ObjectMeta{Name: "imported"},
		Spec:       tenancyv1alpha1.TenantClusterSpec{ClusterRef: &metav1alpha1.LocalReference{Name: "prod"}},
	})
	tenant.waitFor("imported", tenancyv1alpha1.ConditionKubeconfigValid, metav1.ConditionFalse, tenancyv1alpha1.ReasonClusterAPIMissing)

	if err := shared.fleet.InstallClusterAPI(t.Context()); err != nil {
		t.Fatal(err)
	}
	tenant.waitFor("imported", tenancyv1alpha1.ConditionKubeconfigValid, metav1.ConditionFalse, tenancyv1alpha1.ReasonClusterNotFound)

	cluster := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"infrastructureRef": map[string]any{"apiGroup": "infrastructure.example.com", "kind": "ExampleCluster", "name": "prod"},
	}}}
	cluster.SetGroupVersionKind(clusterapi.Kind)
	cluster.SetName("prod")
	tenant.create(cluster)
	tenant.waitReady("imported")
}

// Cluster API renews the certificate in its Secret when half of its life is over.
func TestAKubeconfigThatClusterAPIRenewsIsSwappedBeforeItExpires(t *testing.T) {
	tenant := newTenant(t)
	if err := shared.fleet.InstallClusterAPI(t.Context()); err != nil {
		t.Fatal(err)
	}
	cluster := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"infrastructureRef": map[string]any{"apiGroup": "infrastructure.example.com", "kind": "ExampleCluster", "name": "prod"},
	}}}
	cluster.SetGroupVersionKind(clusterapi.Kind)
	cluster.SetName("prod")
	tenant.create(cluster)
	tenant.secret("prod-kubeconfig", issued(t, time.Hour))
	tenant.create(&tenancyv1alpha1.TenantCluster{
		ObjectMeta: metav1.ObjectMeta{Name: "prod"},
		Spec:       tenancyv1alpha1.TenantClusterSpec{ClusterRef: &metav1alpha1.LocalReference{Name: "prod"}},
	})
	tenant.waitReady("prod")
	tenant.waitFor("prod", tenancyv1alpha1.ConditionCredentialsExpiring, metav1.ConditionTrue, tenancyv1alpha1.ReasonExpiresSoon)
	before, _ := shared.connections.Get(tenant.key("prod"))
	(&renewing{tenant: tenant}).witness()

	tenant.secret("prod-kubeconfig", issued(t, 365*24*time.Hour))
	tenant.eventually("the new certificate is in use", func() (string, bool) {
		status := tenant.get("prod").Status
		after, ok := shared.connections.Get(tenant.key("prod"))
		return status.KubeconfigExpiresAt.String(), ok && after != before && status.KubeconfigExpiresAt != nil && time.Until(status.KubeconfigExpiresAt.Time) > 300*24*time.Hour &&
			meta.FindStatusCondition(status.Conditions, tenancyv1alpha1.ConditionCredentialsExpiring) == nil
	})
	tenant.waitReady("prod")
}

func TestSuspendedClusterSaysSo(t *testing.T) {
	tenant := newTenant(t)
	tenant.imported("prod", shared.blue.Kubeconfig())
	tenant.waitReady("prod")
	tenant.annotate("prod", metav1alpha1.AnnotationSuspendUntil, time.Now().Add(5*time.Second).Format(time.RFC3339))
	suspended := tenant.waitFor("prod", metav1alpha1.ConditionReady, metav1.ConditionTrue, metav1alpha1.ReasonSuspended)
	if !strings.Contains(suspended.Message, "suspended until") {
		t.Errorf("the message does not say until when: %s", suspended.Message)
	}
	tenant.waitFor("prod", metav1alpha1.ConditionReady, metav1.ConditionTrue, metav1alpha1.ReasonSucceeded)
}

func TestSecretIsReleasedWhenTheReferenceChanges(t *testing.T) {
	tenant := newTenant(t)
	tenant.imported("prod", shared.blue.Kubeconfig())
	tenant.waitReady("prod")
	if !controllerutil.ContainsFinalizer(tenant.getSecret("prod"), metav1alpha1.FinalizerAccess) {
		t.Fatal("the Secret in use has no finalizer")
	}
	tenant.secret("other", issued(t, time.Hour*24*100))
	tenant.patch("prod", `{"spec":{"kubeconfigRef":{"name":"other"}}}`)
	tenant.eventually("the finalizer moves to the other Secret", func() (string, bool) {
		before, after := tenant.getSecret("prod"), tenant.getSecret("other")
		return "", !controllerutil.ContainsFinalizer(before, metav1alpha1.FinalizerAccess) && controllerutil.ContainsFinalizer(after, metav1alpha1.FinalizerAccess)
	})
	tenant.waitReady("prod")
}

func (t *tenant) getSecret(name string) *corev1.Secret {
	t.Helper()
	secret := &corev1.Secret{}
	if err := t.admin.Get(t.ctx, t.key(name), secret); err != nil {
		t.Fatal(err)
	}
	return secret
}

// target makes one as a policy controller does.
func (t *tenant) target(name, cluster string) *addonsv1alpha1.AddonRelease {
	target := &addonsv1alpha1.AddonRelease{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Finalizers: []string{metav1alpha1.FinalizerTarget},
			Labels: map[string]string{metav1alpha1.LabelCluster: cluster, metav1alpha1.LabelClusterNamespace: t.namespace},
		},
		Spec: addonsv1alpha1.AddonReleaseSpec{
			TargetSpec: metav1alpha1.TargetSpec{
				ClusterRef: metav1alpha1.ClusterReference{Namespace: t.namespace, Name: cluster},
				Revision:   "r1",
			},
		},
	}
	t.create(target)
	return target
}

func TestDeletingANamespaceKeepsTheAccessUntilTheTargetsAreGone(t *testing.T) {
	tenant := newTenant(t)
	tenant.imported("prod", shared.blue.Kubeconfig())
	tenant.waitReady("prod")
	target := tenant.target("cache-prod", "prod")

	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: tenant.namespace}}
	if err := tenant.admin.Delete(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	waiting := tenant.waitFor("prod", metav1alpha1.ConditionReady, metav1.ConditionFalse, metav1alpha1.ReasonDeleting)
	if !strings.Contains(waiting.Message, "cache-prod") {
		t.Errorf("the message does not name the target: %s", waiting.Message)
	}
	tenant.eventually("the Secret is being deleted", func() (string, bool) {
		return "", tenant.getSecret("prod").DeletionTimestamp != nil
	})
	if _, ok := shared.connections.Get(tenant.key("prod")); !ok {
		t.Error("the target cannot clean up: the connection is closed")
	}

	// The test plays the target's controller.
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
	if err := tenant.admin.Patch(t.Context(), target, patch); err != nil {
		t.Fatal(err)
	}
	tenant.waitGone(&tenancyv1alpha1.TenantCluster{ObjectMeta: metav1.ObjectMeta{Namespace: tenant.namespace, Name: "prod"}})
	tenant.waitGone(namespace)
	if _, ok := shared.connections.State(tenant.key("prod")); ok {
		t.Error("the connection is still there")
	}
}
