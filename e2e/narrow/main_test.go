package narrow

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/daytwo-dev/daytwo/apis"
	"github.com/daytwo-dev/daytwo/e2e/environment"
	"github.com/daytwo-dev/daytwo/tools/local/fixture"
	"github.com/daytwo-dev/daytwo/tools/local/localfleet"
	"github.com/daytwo-dev/daytwo/tools/local/manifests"
)

// Namespaces of customers.
const (
	bound    = "acme"
	unbound  = "globex"
	unlisted = "initech"
)

// manager is what the manager runs as.
const manager = "system:serviceaccount:daytwo-system:daytwo-controller-manager"

// narrowed is what config/narrow adds, and what it puts in the place of others.
func narrowed() []string {
	return []string{"manager/role.yaml", "secrets_role.yaml", "provider_namespace.yaml", "cluster_namespaces.yaml"}
}

var env *environment.Environment

func TestMain(m *testing.M) { os.Exit(fixture.Main(m, 0, start)) }

func start(ctx context.Context, dir string) (end func() error, err error) {
	env, err = environment.Start(ctx, environment.Options{
		StateDir: dir, Clusters: 2, Bare: true, Progress: os.Stderr, BeforeManager: narrow,
		ManagerArgs: []string{"--leader-election=off", "--secret-namespaces=daytwo-system," + bound + "," + unbound},
	})
	if err != nil {
		return nil, err
	}
	return env.Close, nil
}

// narrow takes rights from the manager, and gives it a role in one customer's namespace.
func narrow(ctx context.Context, fleet *localfleet.Fleet) error {
	for _, file := range narrowed() {
		objects, err := manifests.Load(filepath.Join("../../config/narrow", file))
		if err != nil {
			return err
		}
		if err := manifests.Apply(ctx, fleet.Management().Config(), objects); err != nil {
			return err
		}
	}
	admin, err := client.New(fleet.Management().Config(), client.Options{Scheme: apis.NewScheme()})
	if err != nil {
		return err
	}
	var problems []error
	for _, name := range []string{bound, unbound, unlisted} {
		problems = append(problems, admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}))
	}
	return errors.Join(append(problems, admin.Create(ctx, binding(bound)))...)
}

// binding is the one that the provider's team makes in a customer's namespace.
func binding(namespace string) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "daytwo-secrets"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "daytwo-system", Name: "daytwo-controller-manager"}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "daytwo-secrets"},
	}
}

// asManager is what somebody may do who took over the manager's credentials.
func asManager(t *testing.T) client.Client {
	t.Helper()
	content, err := env.Fleet.Management().KubeconfigFor(manager, []string{"system:serviceaccounts"}, time.Hour)
	must(t, err)
	config, err := clientcmd.RESTConfigFromKubeConfig(content)
	must(t, err)
	thief, err := client.New(config, client.Options{Scheme: apis.NewScheme()})
	must(t, err)
	return thief
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
