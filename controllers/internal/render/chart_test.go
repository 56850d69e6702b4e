package render

import (
	"context"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/daytwo-dev/daytwo/controllers/internal/render/manifest"
)

func TestAChartIsInspected(t *testing.T) {
	pool := newTestPool(t, Options{Workers: 1})
	info, err := pool.InspectChart(context.Background(), "", entries{
		"Chart.yaml":       valkeyYAML + "kubeVersion: \">=1.30.0-0\"\ntype: library\n",
		"templates/a.yaml": `{{ .Capabilities.APIVersions.Has "v1" }}`,
	}.packed(t))
	want := ChartInfo{Name: "valkey", Version: "1.2.3", AppVersion: "9.0", KubeVersion: ">=1.30.0-0", Type: "library", AsksForAPIs: true}
	if err != nil || info != want {
		t.Errorf("got %+v, %v, want %+v", info, err, want)
	}
	info, err = pool.InspectChart(context.Background(), "", entries{"Chart.yaml": valkeyYAML, "README.md": "APIVersions"}.packed(t))
	want = ChartInfo{Name: "valkey", Version: "1.2.3", AppVersion: "9.0", Type: "application"}
	if err != nil || info != want {
		t.Errorf("got %+v, %v, want %+v", info, err, want)
	}
}

func TestChartsThatCannotBeInstalledAreRefused(t *testing.T) {
	pool := newTestPool(t, Options{Workers: 1})
	dependency := "dependencies: [{name: common, version: 1.x.x, repository: \"\"}]\n"
	for name, test := range map[string]struct {
		files  entries
		reason manifest.Reason
		want   string
	}{
		"library":            {entries{"Chart.yaml": valkeyYAML + "type: library\n"}, manifest.ChartRefused, "the chart valkey is a library"},
		"apiVersion v3":      {entries{"Chart.yaml": "apiVersion: v3\nname: valkey\nversion: 1.2.3\n"}, manifest.ChartRefused, `apiVersion "v3"`},
		"no version":         {entries{"Chart.yaml": "apiVersion: v2\nname: valkey\n"}, manifest.ChartRefused, "version is required"},
		"version of no kind": {entries{"Chart.yaml": "apiVersion: v2\nname: valkey\nversion: latest\n"}, manifest.ChartRefused, "chart.metadata.version"},
		"name with a slash":  {entries{"Chart.yaml": "apiVersion: v2\nname: a/b\nversion: 1.2.3\n"}, manifest.ChartRefused, "chart.metadata.name"},
		"name .":             {entries{"Chart.yaml": "apiVersion: v2\nname: .\nversion: 1.2.3\n"}, manifest.ChartRefused, "chart.metadata.name"},
		"name ..":            {entries{"Chart.yaml": "apiVersion: v2\nname: ..\nversion: 1.2.3\n"}, manifest.ChartRefused, "chart.metadata.name"},
		"name with spaces":   {entries{"Chart.yaml": "apiVersion: v2\nname: a b\nversion: 1.2.3\n"}, manifest.ChartRefused, `"a b" in a Chart.yaml is no name`},
		"subchart's name":    {valkey("").with(entries{"charts/x/Chart.yaml": "apiVersion: v2\nname: a b\nversion: 1.2.3\n"}), manifest.ChartRefused, `"a b"`},
		"missing dependency": {entries{"Chart.yaml": valkeyYAML + dependency}, manifest.ChartRefused, `depends on "common"`},
		"no Chart.yaml":      {entries{"values.yaml": "a: b"}, manifest.ChartRefused, "Chart.yaml file is missing"},
		"kubeVersion":        {entries{"Chart.yaml": valkeyYAML + "kubeVersion: \">=1.40.0-0\"\n"}, manifest.ChartIncompatible, "the chart valkey requires Kubernetes >=1.40.0-0"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := pool.RenderChart(context.Background(), chartRequest(t, test.files))
			wantRefusal(t, err, test.reason, test.want)
		})
	}
}

func TestAReleaseNeedsANameThatHelmAccepts(t *testing.T) {
	pool := newTestPool(t, Options{Workers: 1})
	request := chartRequest(t, valkey(""))
	request.Release.Name = strings.Repeat("x", 54)
	_, err := pool.RenderChart(context.Background(), request)
	wantRefusal(t, err, manifest.ReleaseInvalid, "at most 53")
	request.Release.Name, request.Capabilities.KubeVersion = "cache", ""
	_, err = pool.RenderChart(context.Background(), request)
	wantRefusal(t, err, manifest.ReleaseInvalid, "version")
}

func TestChartsKnowTheReleaseTheClusterAndTheirFiles(t *testing.T) {
	pool := newTestPool(t, Options{Workers: 1})
	files := valkey(configMap(`"{{ .Release.Name }}/{{ .Release.Namespace }}/{{ .Release.Revision }} {{ .Release.IsUpgrade }} {{ .Release.IsInstall }}
    {{ .Capabilities.KubeVersion.Version }} {{ .Capabilities.APIVersions.Has "x/v1" }} {{ .Files.Get "a.txt" }}{{ getHostByName "localhost" }}"`)).
		with(entries{"a.txt": "text"})
	request := chartRequest(t, files)
	request.Release.Revision, request.Release.Upgrade = 3, true
	request.Capabilities.APIVersions = []string{"v1", "x/v1"}
	result, err := pool.RenderChart(context.Background(), request)
	if err != nil {
		t.Fatal(err)
	}
	got, _, _ := unstructured.NestedString(result.Objects[0].Object, "data", "x")
	if want := "cache/data/3 true false v1.36.0 true text"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestACRDOfSeveralChartsIsTheFirst(t *testing.T) {
	pool := newTestPool(t, Options{Workers: 1})
	crd := func(name, from string) string {
		return "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: " + name + ", annotations: {from: " + from + "}}\n"
	}
	result, err := pool.RenderChart(context.Background(), chartRequest(t, entries{
		"Chart.yaml":              valkeyYAML,
		"crds/b.yaml":             crd("b.x", "top") + "---\n" + crd("a.x", "top"),
		"charts/z/Chart.yaml":     "apiVersion: v2\nname: z\nversion: 1.0.0\n",
		"charts/z/crds/z.yaml":    crd("z.x", "z") + "status: {}\n",
		"charts/y/Chart.yaml":     "apiVersion: v2\nname: sub\nversion: 1.0.0\n",
		"charts/y/crds/y.yaml":    crd("b.x", "sub") + "---\n" + crd("y.x", "sub"),
		"charts/y/crds/README.md": "none",
	}))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, object := range result.CRDs {
		got = append(got, object.GetName()+" of "+object.GetAnnotations()["from"])
	}
	if want := []string{"b.x of top", "a.x of top", "y.x of sub", "z.x of z"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestObjectsOfAChartAreChecked(t *testing.T) {
	pool := newTestPool(t, Options{Workers: 1})
	object := configMap("z")
	hook := strings.Replace(object, "{name: settings}", `{name: settings, annotations: {"helm.sh/hook": pre-install}}`, 1)
	for name, test := range map[string]struct {
		template string
		want     string
	}{
		"same object twice": {object + "---\n" + object, `valkey/templates/a.yaml (ConfigMap "settings") is the same object as in valkey/templates/a.yaml`},
		"no name":           {"apiVersion: v1\nkind: ConfigMap\nmetadata: {}\n", "valkey/templates/a.yaml (ConfigMap): metadata.name is missing"},
		"generated name":    {"apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: x}\n", "metadata.generateName"},
		"no object":         {"text", "valkey/templates/a.yaml renders to a document that is not valid YAML"},
		"bad YAML":          {"a: b\nc: [", "valkey/templates/a.yaml renders to a document that is not valid YAML: line 2"},
		"reserved label":    {"apiVersion: v1\nkind: X\nmetadata: {name: a, labels: {daytwo.dev/hash: x}}", "Daytwo's own"},
		"annotation":        {"apiVersion: v1\nkind: X\nmetadata: {name: a, annotations: {x: [5]}}", "annotation that is not a string"},
		"hook that is none": {"metadata: {annotations: {\"helm.sh/hook\": pre-install}}", "apiVersion is missing"},
		"list as a hook": {"apiVersion: v1\nkind: List\nmetadata: {annotations: {\"helm.sh/hook\": pre-install}}\nitems: []",
			"a hook is one object"},
		"too many objects": {`{{ range until 1999 }}
---
apiVersion: v1
kind: X
metadata: {name: "n{{ . }}"}
{{ end }}
---
` + object + "---\n" + hook, "more than 2000 objects"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := pool.RenderChart(context.Background(), chartRequest(t, valkey(test.template)))
			reason := manifest.InvalidManifest
			if strings.HasPrefix(name, "too many") {
				reason = manifest.OutputLimitExceeded
			}
			wantRefusal(t, err, reason, test.want)
		})
	}
}

func TestChartsMayDoWhatHelmForgives(t *testing.T) {
	pool := newTestPool(t, Options{Workers: 1})
	result, err := pool.RenderChart(context.Background(), chartRequest(t, valkey(`{{/* nothing */}}
# only a comment
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleList
metadata: {}
items:
- metadata: {name: a}
- {apiVersion: v1, kind: Secret, metadata: {name: b}, stringData: {x: z}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: twice, labels: {a: b, a: c}}
status: {}
`)))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, object := range result.Objects {
		got = append(got, object.GetAPIVersion()+" "+object.GetKind()+" "+object.GetName()+" "+object.GetLabels()["a"])
	}
	want := []string{"v1 ConfigMap twice c", "rbac.authorization.k8s.io/v1 Role a ", "v1 Secret b "}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if _, found := result.Objects[0].Object["status"]; found {
		t.Error("the status is still there")
	}
}
