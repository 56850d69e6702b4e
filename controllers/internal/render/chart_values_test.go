package render

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/daytwo-dev/daytwo/controllers/internal/render/manifest"
)

func TestLayersAreMergedOverTheChartsOwnValues(t *testing.T) {
	pool := newTestPool(t, Options{Workers: 1})
	files := valkey(configMap("{{ toJson .Values | squote }}")).with(entries{
		"values.yaml":           "a: {x: chart, w: chart, gone: chart}\nlist: [1, 2]\n",
		"charts/sub/Chart.yaml": "apiVersion: v2\nname: sub\nversion: 1.0.0\n",
	})
	request := chartRequest(t, files,
		"a: {x: first, z: first}\nlist: [3]\nglobal: {g: 1}\n---\na: {x: second}\n",
		"a: {z: third, gone: null}\nb: &b {c: d}\ne: *b\n", "", "# nothing\n")
	result, err := pool.RenderChart(context.Background(), request)
	if err != nil {
		t.Fatal(err)
	}
	got, _, _ := unstructured.NestedString(result.Objects[0].Object, "data", "x")
	want := `{"a":{"w":"chart","x":"second","z":"third"},"b":{"c":"d"},"e":{"c":"d"},"global":{"g":1},"list":[3],"sub":{"global":{"g":1}}}`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestStringsOfValuesKnowTheCluster(t *testing.T) {
	pool := newTestPool(t, Options{Workers: 1})
	for values, want := range map[string]string{
		`x: "{{ .Cluster.Name }}.{{ .Cluster.Labels.tier }}"`:                                 `"prod.gold"`,
		`x: [{v: "{{ index .Cluster.Labels \"topology.kubernetes.io/zone\" }}"}]`:             `[{"v":"a"}]`,
		`x: "{{ \"{{\" }} .Release.Name }}"`:                                                  `"{{ .Release.Name }}"`,
		`x: {"{{ .Cluster.Foo }}": 5}`:                                                        `{"{{ .Cluster.Foo }}":5}`,
		`x: "{{ if eq .Cluster.Version \"1.36\" }}5{{ end }}"`:                                `"5"`,
		"x: |\n  {{- range $k, $v := .Cluster.Labels }}\n  {{ $k }}={{ $v }}\n  {{- end }}\n": `"\ntier=gold\ntopology.kubernetes.io/zone=a\n"`,
	} {
		got, err := rendersTo(t, pool, "{{ toJson .Values.x | squote }}", values)
		if err != nil || got != want {
			t.Errorf("%s: got %s, %v, want %s", values, got, err, want)
		}
	}
}

func TestWhatIsWrongWithALayerIsSaidWithoutItsValues(t *testing.T) {
	pool := newTestPool(t, Options{Workers: 1})
	const secret = "s3cr3t"
	for name, test := range map[string]struct{ text, want string }{
		"no mapping":         {"- " + secret, "secret/cache: it is not a YAML mapping"},
		"text":               {secret, "secret/cache: it is not a YAML mapping"},
		"bad YAML":           {"a: b\nc: [" + secret, "secret/cache: line 2 is not valid YAML"},
		"unknown anchor":     {"a: *" + secret, "secret/cache: it is not a YAML mapping"},
		"unknown key":        {"a: {b.c: [{d: '" + secret + " {{ .Cluster.Region }}'}]}", `secret/cache: a["b.c"][0].d: at <.Cluster.Region>: map has no entry for key "Region"`},
		"unknown label":      {"a: '{{ .Cluster.Labels.size }}'", `secret/cache: a: at <.Cluster.Labels.size>: map has no entry for key "size"`},
		"chart's values":     {"a: '{{ .Values.b }}'", `secret/cache: a: at <.Values.b>: map has no entry for key "Values"`},
		"no template":        {"a: '{{ " + secret + "'", "secret/cache: a: it is not a template that can be read"},
		"no function":        {"a: 'x{{" + secret + "}}'", "secret/cache: a: it is not a template that can be read"},
		"failing":            {"a: '{{ b64dec \"" + secret + "\" }}'", "secret/cache: a: at <b64dec>: error calling b64dec: the value is not base64"},
		"failing on purpose": {"a: '{{ fail \"" + secret + "\" }}'", "secret/cache: a: at <fail>: error calling fail: correct"},
		"failing quoting":    {"a: '{{ int \"" + secret + "\" | index \"" + secret + "\" }}'", "secret/cache: a: at <index>: error calling index"},
		"binary":             {"a: '{{ b64dec \"/w==\" }}'", "secret/cache: a: it yields bytes that are not UTF-8"},
		"not UTF-8":          {"a: \xff", "secret/cache is not UTF-8"},
	} {
		t.Run(name, func(t *testing.T) {
			request := chartRequest(t, valkey(""))
			request.Values = []ValuesLayer{{Name: "values", Text: "a: b"}, {Name: "secret/cache", Text: test.text}}
			_, err := pool.RenderChart(context.Background(), request)
			wantRefusal(t, err, manifest.ValuesInvalid, test.want)
			if strings.Contains(err.Error(), secret) {
				t.Errorf("the error repeats a value: %v", err)
			}
		})
	}
}

func TestASubchartsValuesAreAMapping(t *testing.T) {
	pool := newTestPool(t, Options{Workers: 1})
	files := valkey("").with(entries{"charts/sub/Chart.yaml": "apiVersion: v2\nname: sub\nversion: 1.0.0\n"})
	_, err := pool.RenderChart(context.Background(), chartRequest(t, files, "sub: s3cr3t"))
	wantRefusal(t, err, manifest.ValuesInvalid, "the values of the subchart sub")
	if strings.Contains(err.Error(), "s3cr3t") {
		t.Errorf("the error repeats a value: %v", err)
	}
}

func TestViolationsOfASchemaAreNamedWithoutValues(t *testing.T) {
	pool := newTestPool(t, Options{Workers: 1})
	const secret = "s3cr3t"
	schema := `{"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "required": ["must"], "properties": {
		"a": {"type": "object", "additionalProperties": false, "properties": {"port": {"type": "integer", "maximum": 65535}}},
		"list": {"items": {"type": "string", "pattern": "^[a-c]+$"}},
		"one": {"enum": ["x", "y"]}, "const": {"const": "x"}, "mail": {"format": "email"}, "short": {"maxLength": 3},
		"even": {"multipleOf": 2}, "more": {"exclusiveMinimum": 0.5}, "long": {"minLength": 10}}}`
	files := valkey("").with(entries{
		"values.schema.json":            schema,
		"charts/sub/Chart.yaml":         "apiVersion: v2\nname: sub\nversion: 1.0.0\n",
		"charts/sub/values.schema.json": `{"properties": {"a": {"type": "integer"}}}`,
	})
	for values, want := range map[string]string{
		"{}":                                "at the top: missing property 'must'",
		"a: {port: " + secret + "}":         "a.port: got string, want integer",
		"a: {port: 70000}":                  "a.port: is more than 65535",
		"a: {prot: " + secret + "}":         "a: additional properties 'prot' not allowed",
		"list: [abc, " + secret + "]":       `list[1]: does not match the pattern "^[a-c]+$"`,
		"one: " + secret:                    "one: value must be one of 'x', 'y'",
		"const: " + secret:                  "const: value must be 'x'",
		"mail: " + secret:                   "mail: is not a valid email",
		"short: " + secret:                  "short: is longer than 3 characters",
		"even: 3":                           "even: is no multiple of 2",
		"more: 0.25":                        "more: is not more than 1/2",
		"long: " + secret:                   "long: is shorter than 10 characters",
		"must: 1\nsub: {a: " + secret + "}": "the values.schema.json of the chart sub allows: sub.a: got string, want integer",
	} {
		t.Run(values, func(t *testing.T) {
			_, err := pool.RenderChart(context.Background(), chartRequest(t, files, values))
			wantRefusal(t, err, manifest.ValuesInvalid, want)
			if err != nil && strings.Contains(err.Error(), secret) {
				t.Errorf("the error repeats a value: %v", err)
			}
		})
	}
	result, err := pool.RenderChart(context.Background(), chartRequest(t, files, "must: 1\none: x\nlist: [abc]"))
	if err != nil || !json.Valid(result.Record) {
		t.Errorf("good values are refused: %v", err)
	}
}

func TestASchemaThatCannotBeUsedIsSaidToBe(t *testing.T) {
	pool := newTestPool(t, Options{Workers: 1})
	for schema, want := range map[string]string{
		`{`:                            "the values.schema.json of the chart valkey is not a JSON schema",
		`{"type": "nothing"}`:          "is not a JSON schema that can be used",
		`{"$ref": "#/$defs/x"}`:        "is not a JSON schema that can be used",
		`{"$ref": "other.json"}`:       `refers to "file:///other.json"`,
		`{"$ref": "/etc/passwd"}`:      `refers to "file:///etc/passwd"`,
		`{"$schema": "https://x.y/z"}`: `refers to "https://x.y/z"`,
	} {
		_, err := pool.RenderChart(context.Background(), chartRequest(t, valkey("").with(entries{"values.schema.json": schema})))
		wantRefusal(t, err, manifest.ChartRefused, want)
	}
}

func TestASchemaMayReferToAURNThatNobodyKnows(t *testing.T) {
	pool := newTestPool(t, Options{Workers: 1})
	files := valkey("").with(entries{"values.schema.json": `{"$ref": "urn:example:x"}`})
	if _, err := pool.RenderChart(context.Background(), chartRequest(t, files)); err != nil {
		t.Error(err)
	}
}
