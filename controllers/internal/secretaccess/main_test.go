package secretaccess

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/daytwo-dev/daytwo/tools/local/fixture"
	"github.com/daytwo-dev/daytwo/tools/local/localfleet"
)

const user = "daytwo-manager"

// Namespaces of the tests: two are the manager's by its flag, and it has the role in the first.
const (
	bound    = "bound"
	unbound  = "unbound"
	unlisted = "unlisted"
)

var (
	servers *localfleet.Fleet
	admin   client.Client
)

func TestMain(m *testing.M) {
	os.Exit(fixture.Main(m, 0, func(ctx context.Context, dir string) (end func() error, err error) {
		bare := localfleet.Options{ClusterOptions: localfleet.ClusterOptions{Bare: true}}
		if servers, err = fixture.StartFleet(ctx, dir, bare, "../../../config/narrow/secrets_role.yaml"); err != nil {
			return nil, err
		}
		if admin, err = client.New(servers.Management().Config(), client.Options{}); err != nil {
			return servers.Close, err
		}
		for _, name := range []string{bound, unbound, unlisted} {
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: "secret"}}
			if err := errors.Join(admin.Create(ctx, namespace), admin.Create(ctx, secret)); err != nil {
				return servers.Close, err
			}
		}
		return servers.Close, admin.Create(ctx, binding(bound))
	}))
}

func binding(namespace string) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: Role},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: Role},
	}
}

// startManager starts one that has no right but the role in one namespace, and a watch of Secrets.
func startManager(t *testing.T, access *Access) ctrl.Manager {
	t.Helper()
	content, err := servers.Management().KubeconfigFor(user, nil, time.Hour)
	must(t, err)
	config, err := clientcmd.RESTConfigFromKubeConfig(content)
	must(t, err)
	config.Wrap(access.RoundTripper)
	inner, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme.Scheme, Metrics: metricsserver.Options{BindAddress: "0"},
		Cache: cache.Options{ByObject: access.CacheOptions(), NewInformer: access.NewInformer()},
	})
	must(t, err)
	_, err = inner.GetCache().GetInformer(t.Context(), metadata(), cache.BlockUntilSynced(false))
	must(t, err)
	stop := fixture.Background(inner.Start)
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	return access.Manager(inner)
}

func metadata() *metav1.PartialObjectMetadata {
	secret := &metav1.PartialObjectMetadata{}
	secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	return secret
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
