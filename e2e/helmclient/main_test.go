package helmclient

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"helm.sh/helm/v4/pkg/action"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/daytwo-dev/daytwo/e2e/charts"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
	"github.com/daytwo-dev/daytwo/tools/local/fixture"
	"github.com/daytwo-dev/daytwo/tools/local/localfleet"
)

// patience is far longer than anything takes on an idle machine.
const patience = 5 * time.Minute

// cluster is a full one, in which Jobs come to an end.
var cluster *localfleet.Cluster

func TestMain(m *testing.M) {
	os.Exit(fixture.Main(m, 0, func(ctx context.Context, dir string) (end func() error, err error) {
		bare := localfleet.Options{ClusterOptions: localfleet.ClusterOptions{Bare: true}}
		servers, err := fixture.StartFleet(ctx, dir, bare)
		if err != nil {
			return nil, err
		}
		cluster, err = servers.AddCluster(ctx, "helm", localfleet.ClusterOptions{})
		return servers.Close, err
	}))
}

// site is a namespace of one test, for a release in it.
type site struct {
	*testing.T
	*Client
	name  types.NamespacedName
	admin kubernetes.Interface
}

func newSite(t *testing.T, prefix string) *site {
	t.Helper()
	return newSiteWith(t, prefix, cluster.Config(), Settings{Timeout: patience})
}

func newSiteWith(t *testing.T, prefix string, config *rest.Config, settings Settings) *site {
	t.Helper()
	client, err := New(config, settings)
	if err != nil {
		t.Fatal(err)
	}
	namespaces := kubernetes.NewForConfigOrDie(cluster.Config()).CoreV1().Namespaces()
	object := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: prefix + "-"}}
	if object, err = namespaces.Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := namespaces.Delete(context.Background(), object.Name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	return &site{
		T: t, Client: client, name: types.NamespacedName{Namespace: object.Name, Name: "acme"},
		admin: kubernetes.NewForConfigOrDie(cluster.Config()),
	}
}

func (s *site) archive(chart, version string) []byte {
	s.Helper()
	archive, err := charts.Archive(chart, version)
	s.must(err)
	return archive
}

func (s *site) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *site) install(chart string, values map[string]any, options ...func(*action.Install)) {
	s.Helper()
	s.eventually(chart+" is installed", func(ctx context.Context) (bool, error) {
		_, err := s.Install(ctx, s.name, s.archive(chart, charts.FirstVersion), values, options...)
		if err != nil && strings.Contains(err.Error(), "no matches for kind") {
			return false, nil // A busy API server serves a kind a moment after it calls the definition established.
		}
		return err == nil, err
	})
}

func (s *site) upgrade(chart string, values map[string]any) {
	s.Helper()
	_, err := s.Upgrade(s.Context(), s.name, s.archive(chart, charts.SecondVersion), values)
	s.must(err)
}

// id is an object's of the test's namespace in a view.
func (s *site) id(apiVersion, kind, name string) string {
	return strings.Join([]string{apiVersion, kind, s.name.Namespace, name}, "/")
}

func (s *site) snapshot(definitions ...string) View {
	s.Helper()
	view, err := Snapshot(s.Context(), cluster.Config(), Scope{Namespaces: []string{s.name.Namespace}, CRDs: definitions})
	s.must(err)
	return view
}

func (s *site) eventually(what string, is func(context.Context) (bool, error)) {
	s.Helper()
	expect.EventuallyTrue(s, what, is)
}
