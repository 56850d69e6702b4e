package secretaccess

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/daytwo-dev/daytwo/tools/local/expect"
)

func beside(namespace string) string { return namespace + "-clusters" }

// One namespace in which the RoleBinding is missing holds up nobody else, and is read once it is there.
func TestANamespaceWithoutARoleBindingHoldsUpNoOther(t *testing.T) {
	access := New([]string{bound, unbound}, beside, logr.Discard())
	mgr := startManager(t, access)
	expect.EventuallyTrue(t, "the caches are complete without the namespace that may not be listed", func(ctx context.Context) (bool, error) {
		return mgr.GetCache().WaitForCacheSync(ctx), nil
	})
	expect.Eventually(t, "the Secret in the namespace with the RoleBinding is in the cache", func(ctx context.Context) error {
		return mgr.GetClient().Get(ctx, client.ObjectKey{Namespace: bound, Name: "secret"}, metadata())
	})
	for namespace, listed := range map[string]bool{unbound: true, unlisted: false} {
		for how, reader := range map[string]client.Reader{"cache": mgr.GetClient(), "API server": mgr.GetAPIReader()} {
			err := reader.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "secret"}, metadata())
			expectDenied(t, "get from the "+how, err, namespace, listed)
			err = reader.List(t.Context(), &corev1.SecretList{}, client.InNamespace(namespace))
			expectDenied(t, "list from the "+how, err, namespace, listed)
		}
	}
	expectDenied(t, "list all", mgr.GetAPIReader().List(t.Context(), &corev1.SecretList{}), "", false)
	expectDenied(t, "list all from the cache", mgr.GetClient().List(t.Context(), &corev1.SecretList{}), "", false)

	must(t, admin.Create(t.Context(), binding(unbound)))
	t.Cleanup(func() { _ = admin.Delete(context.Background(), binding(unbound)) })
	expect.Eventually(t, "the Secret can be read now", func(ctx context.Context) error {
		err := mgr.GetClient().Get(ctx, client.ObjectKey{Namespace: unbound, Name: "secret"}, metadata())
		if apierrors.IsNotFound(err) {
			t.Error("a Secret counts as missing which the cache does not have yet")
		}
		return err
	})
	must(t, mgr.GetAPIReader().Get(t.Context(), client.ObjectKey{Namespace: unbound, Name: "secret"}, &corev1.Secret{}))

	second := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: unbound, Name: "second"}}
	must(t, admin.Create(t.Context(), second))
	expect.Eventually(t, "the namespace is watched", func(ctx context.Context) error {
		return mgr.GetClient().Get(ctx, client.ObjectKeyFromObject(second), metadata())
	})
}

// What a role in another namespace would permit is not done either.
func TestNoSecretOfAnotherNamespaceIsWritten(t *testing.T) {
	must(t, admin.Create(t.Context(), binding(unlisted)))
	t.Cleanup(func() { _ = admin.Delete(context.Background(), binding(unlisted)) })
	mgr := startManager(t, New([]string{bound}, beside, logr.Discard()))
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: unlisted, Name: "new"}}
	expectDenied(t, "create", mgr.GetClient().Create(t.Context(), secret), unlisted, false)
	must(t, mgr.GetClient().Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: bound, Name: "new"}}))
}

func expectDenied(t *testing.T, what string, err error, namespace string, listed bool) {
	t.Helper()
	denied := Of(err)
	if denied == nil || *denied != (Error{namespace, listed}) || !apierrors.IsForbidden(err) {
		t.Errorf("%s in %q: %v", what, namespace, err)
	}
}

func TestNoNamespacesStandForAll(t *testing.T) {
	access := New(nil, beside, logr.Discard())
	if access.IsNarrow() || access.CacheOptions() != nil || access.NewInformer() != nil || access.Check("any") != nil || access.TryNow("any") || access.Manager(nil) != nil {
		t.Error("a manager without the flag is kept from something")
	}
}

func TestTheNamespacesForClustersBelongToIt(t *testing.T) {
	access := New([]string{"acme", "globex"}, beside, logr.Discard())
	if got := strings.Join(access.Namespaces(), " "); got != "acme acme-clusters globex globex-clusters" {
		t.Errorf("got %s", got)
	}
}

func TestAnErrorSaysWhatToDo(t *testing.T) {
	for _, test := range []struct {
		err  Error
		want []string
	}{
		{Error{Namespace: "acme"}, []string{"namespace acme", Flag, "RoleBinding daytwo-secrets", "kubectl create rolebinding daytwo-secrets --namespace=acme --clusterrole=daytwo-secrets"}},
		{Error{Namespace: "acme", Listed: true}, []string{"namespace acme", "RoleBinding daytwo-secrets is missing", "kubectl create rolebinding daytwo-secrets --namespace=acme --clusterrole=daytwo-secrets"}},
		{Error{}, []string{Flag}},
	} {
		wrapped := fmt.Errorf("read: %w", &test.err)
		for _, want := range test.want {
			if !strings.Contains(wrapped.Error(), want) {
				t.Errorf("%v does not say %q", wrapped, want)
			}
		}
		if result, err := Retry(wrapped); err != nil || result.RequeueAfter != LookAgain || Reason(wrapped, "Failed") != "SecretsNotReadable" {
			t.Errorf("%v is told as %s, and tried again after %s (%v)", wrapped, Reason(wrapped, "Failed"), result.RequeueAfter, err)
		}
	}
	other := errors.New("broken")
	if _, err := Retry(other); !errors.Is(err, other) || Reason(other, "Failed") != "Failed" {
		t.Errorf("another error becomes %v", err)
	}
}
