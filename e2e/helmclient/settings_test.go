package helmclient

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/daytwo-dev/daytwo/e2e/charts"
)

// counter counts requests by their paths' beginning.
type counter struct {
	mu    sync.Mutex
	paths []string
}

func (c *counter) config() *rest.Config {
	config := cluster.Config()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			c.mu.Lock()
			c.paths = append(c.paths, request.URL.Path)
			c.mu.Unlock()
			return next.RoundTrip(request)
		})
	})
	return config
}

func (c *counter) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.paths = nil
}

// count returns how many requests went to a path or below.
func (c *counter) count(path string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	number := 0
	for _, requested := range c.paths {
		if strings.HasPrefix(requested, path) {
			number++
		}
	}
	return number
}

type roundTripper func(*http.Request) (*http.Response, error)

func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }

func TestFastestSettingsSpareTheCluster(t *testing.T) {
	usual := &counter{}
	newSiteWith(t, "usual", usual.config(), Settings{}).install("web", nil)
	if usual.count("/openapi") == 0 {
		t.Errorf("the usual settings don't validate: %v", usual.paths)
	}

	fast := &counter{}
	settings, err := Fastest(fast.config())
	if err != nil {
		t.Fatal(err)
	}
	s := newSiteWith(t, "fast", fast.config(), settings)
	s.install("web", nil)
	fast.reset()
	s.upgrade("web", nil)
	if fast.count("/openapi") != 0 {
		t.Errorf("the fastest settings validate: %v", fast.paths)
	}
	if discovered := fast.count("/apis/apps/v1") - fast.count("/apis/apps/v1/"); discovered != 0 {
		t.Errorf("a second action discovers what is known: %v", fast.paths)
	}
	t.Logf("requests: %d for an installation as usual, %d for an upgrade with the fastest settings", usual.count(""), fast.count(""))
}

func TestFastestSettingsCopeWithNewKinds(t *testing.T) {
	settings, err := Fastest(cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	s := newSiteWith(t, "kinds", cluster.Config(), settings)
	s.removeDefinitions("sites.hosting.example.com")
	s.install("crds", map[string]any{"plans": map[string]any{"group": "kinds.example.com"}}, Waiting)
	_, _, err = s.Uninstall(t.Context(), s.name)
	s.must(err)
}

func TestNothingOfTheUsersHomeCounts(t *testing.T) {
	home := t.TempDir()
	nonsense := filepath.Join(home, "nonsense")
	if err := os.WriteFile(nonsense, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	for _, variable := range []string{
		"KUBECONFIG", "HELM_REGISTRY_CONFIG", "HELM_REPOSITORY_CONFIG", "HELM_REPOSITORY_CACHE", "HELM_PLUGINS",
		"HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME", "HELM_CONTENT_CACHE",
	} {
		t.Setenv(variable, nonsense)
	}
	t.Setenv("HELM_NAMESPACE", "elsewhere")
	t.Setenv("HELM_DRIVER", "configmap")
	t.Setenv("HELM_KUBEAPISERVER", "https://127.0.0.1:1")
	t.Setenv("HELM_MAX_HISTORY", "1")

	s := newSite(t, "home")
	s.install("web", nil)
	s.upgrade("web", nil)
	if got := len(s.story()); got != 2 {
		t.Errorf("there are %d revisions, want 2", got)
	}
	left, err := os.ReadDir(home)
	s.must(err)
	if len(left) != 1 {
		t.Errorf("the home holds %v now", left)
	}
}

func TestOneClientServesManyReleasesAtOnce(t *testing.T) {
	settings, err := Fastest(cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	s := newSiteWith(t, "many", cluster.Config(), settings)
	values := map[string]any{"backoffice": map[string]any{"enabled": true}}
	archive := s.archive("umbrella", charts.FirstVersion)
	group, ctx := errgroup.WithContext(t.Context())
	for _, name := range []string{"first", "second", "third", "fourth"} {
		release := types.NamespacedName{Namespace: s.name.Namespace, Name: name}
		group.Go(func() error {
			_, err := s.Install(ctx, release, archive, values)
			return err
		})
	}
	s.must(group.Wait())
	listed, err := s.List(s.name.Namespace)
	s.must(err)
	if len(listed) != 4 {
		t.Errorf("%d releases are listed, want 4", len(listed))
	}
}

func TestAKubeconfigWillDo(t *testing.T) {
	client, err := FromKubeconfig(cluster.Kubeconfig(), Settings{})
	if err != nil {
		t.Fatal(err)
	}
	if listed, err := client.List("default"); err != nil || len(listed) != 0 {
		t.Errorf("List() = %v, %v", listed, err)
	}
	if _, err := FromKubeconfig([]byte("{"), Settings{}); err == nil || !strings.Contains(err.Error(), "read the kubeconfig") {
		t.Errorf("with a broken kubeconfig: %v", err)
	}
}
