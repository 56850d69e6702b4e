package render

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/daytwo-dev/daytwo/controllers/internal/render/manifest"
)

// renderWith returns what the expression renders to, with lookup.
func renderWith(t *testing.T, ctx context.Context, pool *Pool, lookup LookupFunc, expression string) (string, error) {
	t.Helper()
	request := chartRequest(t, valkey(configMap(expression)))
	request.Lookup = lookup
	result, err := pool.RenderChart(ctx, request)
	if err != nil {
		return "", err
	}
	got, _, _ := unstructured.NestedString(result.Objects[0].Object, "data", "x")
	return got, nil
}

func TestLookupsAreAnsweredByTheManager(t *testing.T) {
	pool := newTestPool(t, Options{Workers: 1})
	lookup := func(_ context.Context, apiVersion, kind, namespace, name string) (map[string]any, error) {
		asked := fmt.Sprintf("%s|%s|%s|%s", apiVersion, kind, namespace, name)
		switch name {
		case "absent":
			return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, name)
		case "nothing":
			return nil, nil
		case "":
			return map[string]any{"items": []any{map[string]any{"asked": asked}, map[string]any{"asked": "and more"}}}, nil
		}
		return map[string]any{"asked": asked, "number": int64(9007199254740993)}, nil
	}
	for expression, want := range map[string]string{
		`"{{ (lookup "v1" "Secret" "a" "b").asked }}"`:                                  "v1|Secret|a|b",
		`"{{ (lookup "apps/v1" "Deployment" "" "b").number }}"`:                         "9007199254740993",
		`"{{ range (lookup "v1" "Node" "" "").items }}{{ .asked }} {{ end }}"`:          "v1|Node|| and more ",
		`"{{ if not (lookup "v1" "ConfigMap" "a" "absent") }}not there{{ end }}"`:       "not there",
		`"{{ len (lookup "v1" "ConfigMap" "a" "nothing") }}"`:                           "0",
		`"{{ range until 50 }}{{ len (lookup "v1" "ConfigMap" "a" "b") }}{{ end }}"`:    strings.Repeat("2", 50),
		`"{{ tpl "{{ (lookup \"v1\" \"ConfigMap\" \"a\" \"b\").asked | quote }}" . }}"`: "v1|ConfigMap|a|b",
	} {
		expression = strings.ReplaceAll(expression, `"{{ tpl`, `{{ tpl`)
		got, err := renderWith(t, context.Background(), pool, lookup, strings.ReplaceAll(expression, `. }}"`, `. }}`))
		if err != nil || got != want {
			t.Errorf("%s: got %q, %v, want %q", expression, got, err, want)
		}
	}
}

func TestWithoutLookupsNothingIsFound(t *testing.T) {
	pool := newTestPool(t, Options{Workers: 1})
	got, err := renderWith(t, context.Background(), pool, nil, `"{{ len (lookup "v1" "Secret" "a" "b") }}"`)
	if err != nil || got != "0" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestALookupThatFailsMayBeTriedAgain(t *testing.T) {
	pool := newTestPool(t, Options{Workers: 1})
	broken := errors.New("connection refused")
	_, err := renderWith(t, context.Background(), pool, func(context.Context, string, string, string, string) (map[string]any, error) {
		return nil, broken
	}, `{{ lookup "v1" "Secret" "a" "b" }}`)
	if _, atFault := manifest.ReasonOf(err); atFault || !errors.Is(err, broken) || !strings.Contains(err.Error(), "lookup of v1 Secret a/b for the chart") {
		t.Errorf("got %v, want the lookup's error", err)
	}
	mustRenderChart(t, pool)
}

func TestLookupsAreLimited(t *testing.T) {
	for name, test := range map[string]struct {
		expression string
		object     map[string]any
		want       manifest.Reason
		words      string
	}{
		"too many":  {`{{ range until 1001 }}{{ $x := lookup "v1" "Secret" "a" "b" }}{{ end }}`, nil, manifest.TemplateFailed, "more than 1000 lookups"},
		"too large": {`{{ $x := lookup "v1" "Secret" "" "" }}`, map[string]any{"x": strings.Repeat("x", 10000)}, manifest.OutputLimitExceeded, "lookup of v1 Secret finds more than 5000 bytes"},
		"too much together": {`{{ range until 6 }}{{ $x := lookup "v1" "Secret" "a" (toString .) }}{{ end }}`, map[string]any{"x": strings.Repeat("x", 4000)},
			manifest.OutputLimitExceeded, "lookups find more than 20000 bytes together, the last of them v1 Secret a/4"},
	} {
		t.Run(name, func(t *testing.T) {
			pool := newTestPool(t, Options{Workers: 1, Limits: Limits{Output: 5000}})
			_, err := renderWith(t, context.Background(), pool, func(context.Context, string, string, string, string) (map[string]any, error) {
				return test.object, nil
			}, test.expression)
			wantRefusal(t, err, test.want, test.words)
		})
	}
}

func TestTimeInALookupCounts(t *testing.T) {
	pool := newTestPool(t, Options{Workers: 1, Limits: Limits{Time: 300 * time.Millisecond}})
	_, err := renderWith(t, context.Background(), pool, func(ctx context.Context, _, _, _, _ string) (map[string]any, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}, `{{ lookup "v1" "Secret" "a" "b" }}`)
	wantRefusal(t, err, manifest.TimeLimitExceeded, "300ms, most of it for the chart's lookups")
}

func TestALookupEndsWithItsCaller(t *testing.T) {
	pool := newTestPool(t, Options{Workers: 1, Limits: Limits{Time: time.Hour}})
	ctx, cancel := context.WithCancel(context.Background())
	_, err := renderWith(t, ctx, pool, func(ctx context.Context, _, _, _, _ string) (map[string]any, error) {
		cancel()
		<-ctx.Done()
		return nil, ctx.Err()
	}, `{{ lookup "v1" "Secret" "a" "b" }}`)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	mustRenderChart(t, pool)
}

func TestAWorkerKilledInALookupIsReplacedOnce(t *testing.T) {
	pool := newTestPool(t, Options{Workers: 1, Limits: Limits{Time: time.Hour}})
	var workers []int
	pool.onStart = func(pid int) { workers = append(workers, pid) }
	got, err := renderWith(t, context.Background(), pool, func(context.Context, string, string, string, string) (map[string]any, error) {
		if len(workers) == 1 {
			kill(t, workers[0])
			return nil, errors.New("forgotten by the next try")
		}
		return map[string]any{"a": "found"}, nil
	}, `{{ (lookup "v1" "Secret" "a" "b").a }}`)
	if err != nil || got != "found" || len(workers) != 2 {
		t.Errorf("got %q, %v from %d workers", got, err, len(workers))
	}
}
