package fleet

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/daytwo-dev/daytwo/controllers/internal/kubeconfig"
)

var configMapKind = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}

// lying is a server of some version that serves ConfigMaps as cluster-wide Secrets.
func lying(t *testing.T, version, discovery string) kubeconfig.Access {
	return serverOf(t, version, func(w http.ResponseWriter, request *http.Request) {
		if request.URL.Path != "/api/v1" {
			http.NotFound(w, request)
			return
		}
		_, _ = io.WriteString(w, discovery)
	})
}

const wrongDiscovery = `{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"secrets","kind":"ConfigMap","namespaced":false}]}`

func TestAClusterIsBelievedForItselfAlone(t *testing.T) {
	access := lying(t, "v1.36.3", wrongDiscovery)
	first := newRig(t, timeouts())
	liar := first.connected(access)
	unknown := newRig(t, timeouts())
	unknown.fleet = first.fleet
	unknown.key.Name = "other"
	t.Cleanup(func() { unknown.fleet.Forget(unknown.key) })
	honest := unknown.connected(shared.access(hostOf(t, shared.first)))
	for name, cluster := range map[string]*Cluster{"itself": liar, "another of its version": honest} {
		resource, err := cluster.Resource(t.Context(), configMapKind)
		if err != nil || resource.Resource != "configmaps" || !resource.Namespaced || resource.HasStatus {
			t.Errorf("%s: got %+v, %v", name, resource, err)
		}
	}
}

func TestAVersionThatIsNotKnownIsAsked(t *testing.T) {
	access := lying(t, "v1.99.0", wrongDiscovery)
	cluster := newRig(t, timeouts()).connected(access)
	resource, err := cluster.Resource(t.Context(), configMapKind)
	if err != nil || resource.Resource != "secrets" {
		t.Errorf("got %+v, %v", resource, err)
	}
}

func TestThatABuiltinKindIsNotServedIsNotBelieved(t *testing.T) {
	for name, answer := range map[string]string{
		"version lacks it": `{"kind":"APIResourceList","groupVersion":"v1","resources":[]}`,
		"leads elsewhere":  strings.Replace(wrongDiscovery, "secrets", "../../apis", 1),
	} {
		t.Run(name, func(t *testing.T) {
			access := lying(t, "v1.99.0", answer)
			cluster := newRig(t, timeouts()).connected(access)
			if _, err := cluster.Resource(t.Context(), configMapKind); err == nil || meta.IsNoMatchError(err) || !strings.Contains(err.Error(), "ConfigMap") {
				t.Errorf("got %v, want an error that names the kind and is not that it is not served", err)
			}
			if _, err := cluster.Resource(t.Context(), widget.GroupVersionKind); !meta.IsNoMatchError(err) {
				t.Errorf("got %v for a kind that does not come with Kubernetes", err)
			}
		})
	}
}
