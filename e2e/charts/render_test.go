package charts

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	release "helm.sh/helm/v4/pkg/release/v1"
	releaseutil "helm.sh/helm/v4/pkg/release/v1/util"
	"sigs.k8s.io/yaml"
)

// values that a chart cannot do without.
func values(name string) map[string]any {
	if name == "database" {
		return map[string]any{"password": "hunter2"}
	}
	return map[string]any{}
}

func archive(t *testing.T, name, version string) []byte {
	t.Helper()
	content, err := Archive(name, version)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// render does what helm template does.
func render(t *testing.T, name, version string, values map[string]any) (*release.Release, error) {
	t.Helper()
	chart, err := loader.LoadArchive(bytes.NewReader(archive(t, name, version)))
	if err != nil {
		t.Fatal(err)
	}
	install := action.NewInstall(action.NewConfiguration())
	install.DryRunStrategy = action.DryRunClient
	install.KubeVersion = &common.KubeVersion{Version: "v1.36.0", Major: "1", Minor: "36"}
	install.ReleaseName, install.Namespace = "acme", "shop"
	rendered, err := install.Run(chart, values)
	if err != nil {
		return nil, err
	}
	return rendered.(*release.Release), nil
}

func rendered(t *testing.T, name, version string, values map[string]any) *release.Release {
	t.Helper()
	release, err := render(t, name, version, values)
	if err != nil {
		t.Fatalf("%s %s: %v", name, version, err)
	}
	return release
}

// objects are a manifest's, by kind and name.
func objects(t *testing.T, manifest string) map[string]map[string]any {
	t.Helper()
	all := map[string]map[string]any{}
	for _, text := range releaseutil.SplitManifests(manifest) {
		object := map[string]any{}
		if err := yaml.Unmarshal([]byte(text), &object); err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		name := object["metadata"].(map[string]any)["name"].(string)
		all[object["kind"].(string)+"/"+name] = object
	}
	return all
}

func ids[V any](objects map[string]V) []string { return slices.Sorted(maps.Keys(objects)) }

// dig follows a path through maps.
func dig(t *testing.T, object map[string]any, fields ...string) any {
	t.Helper()
	var value any = object
	for _, field := range fields {
		inner, ok := value.(map[string]any)
		if !ok {
			t.Fatalf("there is no %s in %v", strings.Join(fields, "."), object)
		}
		value = inner[field]
	}
	return value
}
