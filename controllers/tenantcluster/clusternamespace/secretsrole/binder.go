// Package secretsrole lets the manager read Secrets in the namespaces for Clusters that it makes, where it does not read those of all
// namespaces.
package secretsrole

import (
	"context"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/daytwo-dev/daytwo/controllers/internal/secretaccess"
)

// Binder makes RoleBindings. It needs rights of its own for that, which are in config/narrow, with the policy that bounds them.
type Binder struct {
	Client client.Client
	Access *secretaccess.Access
}

// Bind gives the manager the role in a namespace of its own, if it may not read Secrets there and is to.
func (b Binder) Bind(ctx context.Context, namespace string) error {
	// A namespace that is not the manager's business by its flag gets no RoleBinding.
	denied := secretaccess.Of(b.Access.Check(namespace))
	if denied == nil || !denied.Listed {
		return nil
	}
	self := &authenticationv1.SelfSubjectReview{}
	if err := b.Client.Create(ctx, self); err != nil {
		return fmt.Errorf("find out what the manager runs as: %w", err)
	}
	err := b.Client.Create(ctx, RoleBinding(namespace, self.Status.UserInfo.Username))
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create RoleBinding %s/%s: %w", namespace, secretaccess.Role, err)
	}
	// It may take a moment until the API server goes by it.
	if b.Access.TryNow(namespace) {
		return denied
	}
	return nil
}

// RoleBinding gives a user the role.
func RoleBinding(namespace, user string) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: secretaccess.Role},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: secretaccess.Role},
	}
}
