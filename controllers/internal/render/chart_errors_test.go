package render

import (
	"context"
	"strings"
	"testing"

	"github.com/daytwo-dev/daytwo/controllers/internal/render/manifest"
)

func TestErrorsOfAChartNameThePlaceAndTheKeyButNoValue(t *testing.T) {
	pool := newTestPool(t, Options{Workers: 1})
	const secret = "s3cr3t-p4ss"
	for name, test := range map[string]struct{ template, want string }{
		"missing key":         {"\n\nx: {{ .Values.service.port }}", "valkey/templates/a.yaml:3:13: at <.Values.service.port>: nil pointer evaluating interface {}.port"},
		"in a helper":         {`{{ define "h" }}{{ .Values.service.port }}{{ end }}{{ include "h" . }}`, `valkey/templates/a.yaml:1:54: at <include>: error calling include: valkey/templates/a.yaml:1:26: at <.Values.service.port>: nil pointer`},
		"required":            {`{{ required "set auth.user, please" .Values.auth.user }}`, "valkey/templates/a.yaml:1:3: the chart says: set auth.user, please"},
		"required after text": {"a: b\n{{ fail (printf \"pick a tier:\\nnot %s\" .Values.auth.password) }}", "the chart says: pick a tier: not …"},
		"quoted in base64":    {"{{ fail (printf \"%q %s\" .Values.auth.password (b64enc .Values.auth.password)) }}", `the chart says: "…" …`},
		"several lines":       {"{{ fail .Values.lines }}", "the chart says: …"},
		"not a date":          {`{{ mustToDate "2006" .Values.auth.password }}`, `at <mustToDate>: error calling mustToDate: parsing time "…" as`},
		"tpl":                 {`{{ tpl .Values.template . }}`, `at <tpl>: error calling tpl: cannot parse template "…"`},
		"iterated":            {`{{ range .Values.auth.password }}{{ end }}`, "range can't iterate over"},
		"field of a text":     {`{{ .Values.auth.password.inner }}`, "can't evaluate field inner in type interface {}"},
		"unknown function":    {"a:\n  {{ nothing }}", `valkey/templates/a.yaml:2: the chart's template cannot be read: function "nothing" not defined`},
		"unknown template":    {`{{ include "absent" . }}`, `no template "absent" associated with template "gotpl"`},
		"not closed":          {"{{ if", "valkey/templates/a.yaml:1: the chart's template cannot be read"},
		"panic":               {`{{ repeat -1 "x" }}`, "error calling repeat"},
		"looked up":           {`{{ $s := lookup "v1" "Secret" "a" "b" }}{{ fail (printf "%s %s" $s.data.x (b64dec $s.data.x)) }}`, "the chart says: … …"},
		"looked up in a list": {`{{ $l := lookup "v1" "Secret" "a" "" }}{{ fail ((index $l.items 0).data.x | b64dec) }}`, "the chart says: …"},
	} {
		t.Run(name, func(t *testing.T) {
			request := chartRequest(t, valkey(test.template),
				"auth: {password: "+secret+"}\ntemplate: '{{ \"{{\" }} if "+secret+"'\nlines: \"a "+secret+"\\n  b\"\nname: valkey")
			request.Lookup = func(_ context.Context, _, _, _, name string) (map[string]any, error) {
				data := map[string]any{"x": "czNjcjN0LXA0c3M="}
				if name == "" {
					return map[string]any{"items": []any{map[string]any{"data": data}}}, nil
				}
				return map[string]any{"data": data}, nil
			}
			_, err := pool.RenderChart(context.Background(), request)
			wantRefusal(t, err, manifest.TemplateFailed, test.want)
			if err != nil && (strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), "czNj") || strings.Contains(err.Error(), "\n")) {
				t.Errorf("the error repeats a value, or has several lines: %v", err)
			}
		})
	}
}

func TestYAMLThatValuesBreakIsNotRepeated(t *testing.T) {
	pool := newTestPool(t, Options{Workers: 1})
	_, err := rendersTo(t, pool, "{{ .Values.a }}", "a: '*s3cr3t-p4ss'")
	wantRefusal(t, err, manifest.InvalidManifest, "valkey/templates/a.yaml renders to a document that is not valid YAML")
	if strings.Contains(err.Error(), "s3cr3t") {
		t.Errorf("the error repeats a value: %v", err)
	}
}

func TestALongTraceLosesItsMiddle(t *testing.T) {
	trace := strings.Repeat("a.yaml:1:19: at <include>: error calling include: ", 1000) + "nested too deeply"
	want := "a.yaml:1:19: at <include>: error calling include: … error calling include: a.yaml:1:19: at <include>: error calling include: nested too deeply"
	if got := shortTrace(trace); got != want {
		t.Errorf("got %s", got)
	}
	if short := "a: error calling include: b"; shortTrace(short) != short {
		t.Errorf("got %s", shortTrace(short))
	}
}
