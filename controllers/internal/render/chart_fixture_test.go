package render

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/daytwo-dev/daytwo/controllers/internal/render/manifest"
)

// entries are files of a chart by their path in it.
type entries map[string]string

const valkeyYAML = "apiVersion: v2\nname: valkey\nversion: 1.2.3\nappVersion: \"9.0\"\n"

// with returns the files and more files over them.
func (e entries) with(more entries) entries {
	all := maps.Clone(e)
	maps.Copy(all, more)
	return all
}

// packed makes the archive that `helm package` would make.
func (e entries) packed(t testing.TB) []byte {
	t.Helper()
	return packTar(t, func(w *tar.Writer) {
		for _, name := range slices.Sorted(maps.Keys(e)) {
			addFile(t, w, "chart/"+name, e[name])
		}
	})
}

func packTar(t testing.TB, fill func(*tar.Writer)) []byte {
	t.Helper()
	var packed bytes.Buffer
	zipped := gzip.NewWriter(&packed)
	w := tar.NewWriter(zipped)
	fill(w)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

func addFile(t testing.TB, w *tar.Writer, name, content string) {
	t.Helper()
	addEntry(t, w, &tar.Header{Name: name, Mode: 0o644, Size: int64(len(content))}, content)
}

func addEntry(t testing.TB, w *tar.Writer, header *tar.Header, content string) {
	t.Helper()
	if err := w.WriteHeader(header); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(content)); err != nil {
		t.Fatal(err)
	}
}

// valkey is a small chart: a template is added for what a test is about.
func valkey(template string) entries {
	return entries{"Chart.yaml": valkeyYAML, "templates/a.yaml": template}
}

// configMap is a template that puts an expression's value into an object.
func configMap(expression string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata:\n  x: " + expression + "\n"
}

func chartRequest(t testing.TB, files entries, values ...string) ChartRequest {
	t.Helper()
	request := ChartRequest{
		Archive: files.packed(t), Cluster: inline("").Cluster,
		Release:      Release{Name: "cache", Namespace: "data", Revision: 1},
		Capabilities: Capabilities{KubeVersion: "1.36"},
	}
	for _, text := range values {
		request.Values = append(request.Values, ValuesLayer{Name: "values", Text: text})
	}
	return request
}

// rendersTo returns what the expression renders to in a chart.
func rendersTo(t *testing.T, pool *Pool, expression string, values ...string) (string, error) {
	t.Helper()
	result, err := pool.RenderChart(context.Background(), chartRequest(t, valkey(configMap(expression)), values...))
	if err != nil {
		return "", err
	}
	x, _, _ := unstructured.NestedString(result.Objects[0].Object, "data", "x")
	return x, nil
}

func wantRefusal(t *testing.T, err error, reason manifest.Reason, words ...string) {
	t.Helper()
	if got, _ := manifest.ReasonOf(err); got != reason {
		t.Errorf("got reason %q (%v), want %s", got, err, reason)
		return
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("got %v, want %q in it", err, word)
		}
	}
}

// manifest makes one with annotations, each "name: value".
func manifestText(apiVersion, kind, name string, annotations ...string) string {
	text := fmt.Sprintf("---\napiVersion: %s\nkind: %s\nmetadata:\n  name: %s\n", apiVersion, kind, name)
	if len(annotations) == 0 {
		return text
	}
	return text + "  annotations:\n    " + strings.Join(annotations, "\n    ") + "\n"
}

// hooked is a chart with hooks of all sorts, and objects in no order.
func hooked() entries {
	hook := func(kind, name, events string, more ...string) string {
		return manifestText("batch/v1", kind, name, append([]string{`"helm.sh/hook": ` + events}, more...)...)
	}
	return entries{
		"Chart.yaml":                 valkeyYAML,
		"values.yaml":                "replicas: 1\nimage: {tag: \"9.0\"}\n",
		"templates/NOTES.txt":        "Installed {{ .Release.Name }} with {{ .Values.replicas }} & <{{ .Chart.Version }}>.\n",
		"templates/_helpers.tpl":     `{{ define "valkey.name" }}{{ .Release.Name }}-valkey{{ end }}`,
		"templates/z-namespace.yaml": manifestText("v1", "Namespace", "extra"),
		"templates/all.yaml": "# first\n" + manifestText("apps/v1", "StatefulSet", `{{ include "valkey.name" . }}`) +
			"spec: {replicas: {{ .Values.replicas }}, text: '<&>'}\n" +
			manifestText("v1", "Service", "b") + manifestText("v1", "Service", "a") + "---\n# nothing here\n" +
			manifestText("example.com/v1", "Zebra", "z") + manifestText("example.com/v1", "Ant", "a") + manifestText("v1", "Secret", "s"),
		"templates/hooks.yaml": hook("Job", "second", "pre-install,post-upgrade", `"helm.sh/hook-weight": "5"`) +
			hook("Job", "b-first", "pre-install", `"helm.sh/hook-weight": "-5"`) +
			hook("Pod", "a-first", " Pre-Install ", `"helm.sh/hook-weight": "-5"`, `"helm.sh/hook-delete-policy": "hook-succeeded, Before-Hook-Creation"`) +
			hook("Job", "unknown", "crd-install") + hook("Pod", "tests", "test-success", `"helm.sh/hook-weight": none`) +
			hook("ServiceAccount", "second", "pre-install", `"helm.sh/hook-weight": "5"`) + hook("Secret", "zero", "pre-install"),
		"README.md": "# Valkey",
	}
}

// nested is a chart whose subcharts have an alias, a condition, a tag, exported values and notes.
func nested(t testing.TB) entries {
	sub := func(name, version string) entries {
		return entries{
			"Chart.yaml":          "apiVersion: v2\nname: " + name + "\nversion: " + version + "\n",
			"values.yaml":         "enabled: true\nexports: {shared: {from: " + name + "}}\ninner: {x: " + name + "}\n",
			"templates/NOTES.txt": "of a subchart",
			"templates/a.yaml":    manifestText("v1", "ConfigMap", "{{ .Release.Name }}-{{ .Chart.Name }}") + "data: {v: {{ toJson .Values | squote }}}\n",
		}
	}
	files := entries{
		"Chart.yaml": `apiVersion: v2
name: nested
version: 0.1.0
kubeVersion: ">=1.30.0-0"
dependencies:
- {name: one, version: 1.x.x, repository: "", alias: uno, import-values: [shared]}
- {name: one, version: 1.x.x, repository: "", alias: due, condition: due.enabled}
- {name: two, version: ~2.1, repository: "", tags: [extras]}
- {name: three, version: "*", repository: "", import-values: [{child: inner, parent: three_inner}]}
`,
		"values.yaml":                "tags: {extras: false}\nglobal: {g: 1}\nnothing: null\n",
		"templates/a.yaml":           manifestText("v1", "ConfigMap", "top") + "data: {v: {{ toJson .Values | squote }}, s: {{ .Subcharts.uno.Chart.Name }}}\n",
		"templates/NOTES.txt":        "of the chart",
		"crds/a.yaml":                manifestText("apiextensions.k8s.io/v1", "CustomResourceDefinition", "a.x"),
		"charts/two.tgz":             string(sub("two", "2.1.5").packed(t)),
		"charts/three-3.0.0.tgz":     string(sub("three", "3.0.0").packed(t)),
		"charts/unlisted/x.txt":      "text",
		"charts/_ignored.tgz":        "no archive",
		"charts/.hidden/text":        "no chart",
		"charts/three.tgz.prov":      "signature",
		"charts/zero/Chart.yaml":     "apiVersion: v1\nname: unlisted\nversion: 0.0.1\n",
		"requirements.lock":          "generated: \"2024-01-01T00:00:00Z\"\n",
		"templates/tests/t.yaml":     manifestText("v1", "Pod", "t", `"helm.sh/hook": test`),
		"charts/unlisted/Chart.yaml": "apiVersion: v1\nname: bare\nversion: 0.0.1\n",
	}
	for name, content := range sub("one", "1.5.0") {
		files["charts/one/"+name] = content
	}
	return files
}

// created is what `helm create` makes.
func created(t testing.TB) entries {
	t.Helper()
	at, err := chartutil.Create("created", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	files := entries{}
	for _, name := range []string{
		"Chart.yaml", "values.yaml", "templates/NOTES.txt", "templates/_helpers.tpl", "templates/deployment.yaml", "templates/hpa.yaml",
		"templates/httproute.yaml", "templates/ingress.yaml", "templates/service.yaml", "templates/serviceaccount.yaml", "templates/tests/test-connection.yaml",
	} {
		content, err := os.ReadFile(path.Join(at, name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(content)
	}
	return files
}
