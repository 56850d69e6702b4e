package render

import (
	"bytes"
	"context"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/yaml"

	"helm.sh/helm/v4/pkg/chart/v2/loader"
)

// builtByHelm reads a text as kube.Client.Build does, which has cli-runtime's StreamVisitor read it.
func builtByHelm(t *testing.T, text string) []map[string]any {
	t.Helper()
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096)
	var objects []map[string]any
	for {
		var raw runtime.RawExtension
		err := decoder.Decode(&raw)
		if errors.Is(err, io.EOF) {
			return objects
		}
		if err != nil {
			t.Fatal(err)
		}
		if trimmed := bytes.TrimSpace(raw.Raw); len(trimmed) == 0 || string(trimmed) == "null" {
			continue
		}
		object := map[string]any{}
		if err := json.Unmarshal(raw.Raw, &object); err != nil {
			t.Fatal(err)
		}
		objects = append(objects, object)
	}
}

// textsTemplate is a template of three ConfigMaps, each of which ends in a block scalar.
func textsTemplate(chomping, newline, end string) string {
	one := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME}\ndata:\n  first: x\n  last: |" + chomping + "\n    a\n    b\n"
	var all string
	for _, name := range []string{"one", "two", "three"} {
		all += "---\n" + strings.Replace(one, "NAME", name, 1)
	}
	return strings.ReplaceAll(strings.TrimSuffix(all, "\n")+end, "\n", newline)
}

// TestABlockScalarEndsAsHelmAppliesIt compares objects, hooks and definitions with what Helm reads from
// its own record of the same chart.
func TestABlockScalarEndsAsHelmAppliesIt(t *testing.T) {
	pool := newTestPool(t, Options{Workers: 1})
	for _, chomping := range []string{"", "-", "+"} {
		for newlineName, newline := range map[string]string{"LF": "\n", "CRLF": "\r\n"} {
			for endName, end := range map[string]string{"without a newline": "", "with one": "\n", "with two": "\n\n", "at a marker": "\n---\n", "at an end": "\n...\n"} {
				t.Run("|"+chomping+" "+newlineName+" "+endName, func(t *testing.T) {
					template := textsTemplate(chomping, newline, end)
					hook := strings.ReplaceAll(template, "metadata: {", `metadata: {annotations: {"helm.sh/hook": pre-install}, `)
					request := chartRequest(t, valkey(template).with(entries{"templates/hooks.yaml": hook, "crds/a.yaml": template}))
					result, err := pool.RenderChart(context.Background(), request)
					if err != nil {
						t.Fatal(err)
					}
					installed := helmInstalls(t, request)
					var objects, hooks, crds, wantHooks []map[string]any
					for _, object := range result.Objects {
						objects = append(objects, object.Object)
					}
					for _, hook := range result.Hooks {
						hooks = append(hooks, hook.Object.Object)
					}
					for _, crd := range result.CRDs {
						crds = append(crds, crd.Object)
					}
					// They are of one weight, so Helm runs them by name.
					for _, i := range []int{0, 2, 1} {
						wantHooks = append(wantHooks, builtByHelm(t, installed.Hooks[i].Manifest)...)
					}
					loaded, err := loader.LoadArchive(bytes.NewReader(request.Archive))
					if err != nil {
						t.Fatal(err)
					}
					for name, pair := range map[string][2][]map[string]any{
						"objects":     {objects, builtByHelm(t, installed.Manifest)},
						"hooks":       {hooks, wantHooks},
						"definitions": {crds, builtByHelm(t, string(loaded.CRDObjects()[0].File.Data))},
					} {
						if !reflect.DeepEqual(pair[0], pair[1]) {
							t.Errorf("%s:\ngot  %q\nwant %q", name, pair[0], pair[1])
						}
					}
				})
			}
		}
	}
}
