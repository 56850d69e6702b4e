package narrow

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/clusternamespace/secretsrole"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
)

// The API server refuses, whatever the manager's program is made to do.
func TestTheManagersCredentialsReadNoSecretsOfOtherNamespaces(t *testing.T) {
	t.Parallel()
	thief := asManager(t)
	must(t, thief.List(t.Context(), &corev1.SecretList{}, client.InNamespace(bound)))
	for _, namespace := range []string{"kube-system", metav1.NamespaceDefault, unlisted, metav1.NamespaceAll} {
		if err := thief.List(t.Context(), &corev1.SecretList{}, client.InNamespace(namespace)); !apierrors.IsForbidden(err) {
			t.Errorf("it lists the Secrets of namespace %q: %v", namespace, err)
		}
	}
	for _, namespace := range []string{"kube-system", unlisted} {
		key := client.ObjectKey{Namespace: namespace, Name: "workload-1-kubeconfig"}
		if err := thief.Get(t.Context(), key, &corev1.Secret{}); !apierrors.IsForbidden(err) {
			t.Errorf("it reads Secret %s: %v", key, err)
		}
	}
}

// An order needs no person: the manager binds its role where it makes a namespace, and nowhere else.
func TestTheManagerBindsItsRoleInTheNamespacesForClustersAlone(t *testing.T) {
	t.Parallel()
	order := &tenancyv1alpha1.TenantCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: bound, Name: "ordered"},
		Spec: tenancyv1alpha1.TenantClusterSpec{Topology: &tenancyv1alpha1.ClusterTopology{
			ClassRef: tenancyv1alpha1.ClusterClassReference{Name: "small"}, Version: "v1.36.3",
		}},
	}
	must(t, env.Admin.Create(t.Context(), order))
	const clusters = bound + "-clusters"
	thief := asManager(t)
	expect.Eventually(t, "the manager may read Secrets in the namespace that it made", func(ctx context.Context) error {
		return thief.List(ctx, &corev1.SecretList{}, client.InNamespace(clusters))
	})
	otherUser := secretsrole.RoleBinding(clusters, "somebody")
	otherUser.Name = "daytwo-secrets"
	otherRole := secretsrole.RoleBinding(clusters, manager)
	otherRole.RoleRef.Name = "daytwo-manager"
	more := secretsrole.RoleBinding(clusters, manager)
	more.Subjects = append(more.Subjects, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "system:authenticated"})
	otherName := secretsrole.RoleBinding(clusters, manager)
	otherName.Name = "mine"
	for what, refused := range map[string]*rbacv1.RoleBinding{
		"in kube-system":               secretsrole.RoleBinding("kube-system", manager),
		"in another customer's":        secretsrole.RoleBinding(unlisted, manager),
		"in the customer's own":        secretsrole.RoleBinding(bound, manager),
		"of another name":              otherName,
		"for somebody else":            otherUser,
		"for everybody beside itself":  more,
		"of another role, that it has": otherRole,
	} {
		err := thief.Create(t.Context(), refused, client.DryRunAll)
		if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "the manager makes no RoleBindings but daytwo-secrets for itself") {
			t.Errorf("it makes a RoleBinding %s: %v", what, err)
		}
	}
	existing := secretsrole.RoleBinding(clusters, manager)
	must(t, env.Admin.Get(t.Context(), client.ObjectKeyFromObject(existing), existing))
	existing.Subjects = append(existing.Subjects, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "somebody"})
	if err := thief.Update(t.Context(), existing); !apierrors.IsForbidden(err) {
		t.Errorf("it changes a RoleBinding: %v", err)
	}
}
