package render

import (
	"context"
	"errors"
	"os"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == WorkerArgument {
		os.Exit(WorkerMain(os.Args[2:]))
	}
	os.Exit(m.Run())
}

func newTestPool(t testing.TB, options Options) *Pool {
	t.Helper()
	pool := NewPool(options)
	t.Cleanup(pool.Close)
	return pool
}

// atLast tries again as the controllers do, as long as the machine is busy with other things.
func atLast[Result any](try func() (Result, error)) (Result, error) {
	for {
		result, err := try()
		if !errors.Is(err, ErrMachineBusy) {
			return result, err
		}
	}
}

func inline(text string) Request {
	return Request{
		Sources: []Source{{Name: "inline", Text: text}},
		Cluster: Cluster{
			Name: "prod", Namespace: "customer-acme", Version: "1.36",
			Labels: map[string]string{"tier": "gold", "topology.kubernetes.io/zone": "a"},
		},
	}
}

const settings = `apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {cluster: {{ quote .Cluster.Name }}}
`

// mustRender fails the test unless the settings render.
func mustRender(t *testing.T, pool *Pool) {
	t.Helper()
	objects, err := pool.Render(context.Background(), inline(settings))
	if err != nil {
		t.Fatalf("a good request fails: %v", err)
	}
	if got, _, _ := unstructured.NestedString(objects[0].Object, "data", "cluster"); got != "prod" {
		t.Fatalf("cluster is %q, want prod", got)
	}
}
