package render

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/daytwo-dev/daytwo/controllers/internal/render/manifest"
)

// schemaBomb is a schema in which each definition refers twice to the next, so that checking one
// value takes 2^40 steps.
func schemaBomb() string {
	var definitions strings.Builder
	for i := range 40 {
		fmt.Fprintf(&definitions, `"d%d": {"allOf": [{"$ref": "#/$defs/d%d"}, {"$ref": "#/$defs/d%d"}]}, `, i, i+1, i+1)
	}
	return `{"$defs": {` + definitions.String() + `"d40": {}}, "$ref": "#/$defs/d0"}`
}

func TestChartsThatExceedALimitAreStopped(t *testing.T) {
	for name, test := range map[string]struct {
		files  entries
		values string
		limits Limits
		want   []manifest.Reason
	}{
		"2^27 characters":       {valkey(`{{ repeat 134217728 "x" }}`), "", Limits{Time: time.Hour}, []manifest.Reason{manifest.MemoryLimitExceeded, manifest.OutputLimitExceeded}},
		"2^30 characters":       {valkey(`{{ $s := repeat 1073741824 "x" }}`), "", Limits{Time: time.Hour}, []manifest.Reason{manifest.MemoryLimitExceeded}},
		"30 million iterations": {valkey(`{{ range until 30000000 }}{{ end }}`), "", Limits{Time: 2 * time.Second}, []manifest.Reason{manifest.TimeLimitExceeded, manifest.MemoryLimitExceeded}},
		"endless loop":          {valkey(endless), "", Limits{Time: 300 * time.Millisecond}, []manifest.Reason{manifest.TimeLimitExceeded}},
		"12 MiB of output":      {valkey("# " + `{{ repeat 12582912 "x" }}`), "", Limits{Time: time.Hour}, []manifest.Reason{manifest.OutputLimitExceeded}},
		"output in many files": {func() entries {
			files := valkey("")
			for i := range 12 {
				files[fmt.Sprintf("templates/%d.yaml", i)] = "# " + `{{ repeat 1048576 "x" }}`
			}
			return files
		}(), "", Limits{Time: time.Hour}, []manifest.Reason{manifest.OutputLimitExceeded}},
		"objects over the limit": {valkey(configMap(`{{ toJson (repeat 1500 "<\"") }}`)), "", Limits{Output: 5000}, []manifest.Reason{manifest.OutputLimitExceeded}},
		"template in itself":     {valkey(recursion), "", Limits{Time: time.Hour}, []manifest.Reason{manifest.MemoryLimitExceeded, manifest.TemplateFailed}},
		"include in itself":      {valkey(`{{ define "a" }}{{ include "a" . }}{{ end }}{{ include "a" . }}`), "", Limits{Time: time.Hour}, []manifest.Reason{manifest.TemplateFailed, manifest.MemoryLimitExceeded}},
		"tpl in itself":          {valkey(`{{ tpl .Values.t . }}`), `t: '{{ "{{" }} tpl .Values.t . }}'`, Limits{Time: 2 * time.Second}, []manifest.Reason{manifest.TimeLimitExceeded, manifest.MemoryLimitExceeded, manifest.TemplateFailed}},
		"schema":                 {valkey("").with(entries{"values.schema.json": schemaBomb()}), "", Limits{Time: time.Second}, []manifest.Reason{manifest.TimeLimitExceeded}},
		"values' template":       {valkey(""), "a: '{{ indent 1000000000 \"x\" }}'", Limits{Time: time.Hour}, []manifest.Reason{manifest.MemoryLimitExceeded}},
		"values' output":         {valkey(""), "a: '{{ printf \"%2000s\" \"x\" }}'", Limits{Output: 1000}, []manifest.Reason{manifest.OutputLimitExceeded}},
		"values' size":           {valkey(""), "a: " + strings.Repeat("x", 1000), Limits{Output: 1000}, []manifest.Reason{manifest.OutputLimitExceeded}},
		"values' aliases":        {valkey(""), aliasBomb(), Limits{Time: 5 * time.Second}, []manifest.Reason{manifest.ValuesInvalid}},
		"chart's aliases":        {valkey("").with(entries{"values.yaml": aliasBomb()}), "", Limits{Time: 5 * time.Second}, []manifest.Reason{manifest.ChartRefused}},
		"second rendering":       {valkey(`{{ if .Release.IsUpgrade }}` + endless + `{{ end }}`), "", Limits{Time: 500 * time.Millisecond}, []manifest.Reason{manifest.TimeLimitExceeded}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := newTestPool(t, Options{Workers: 1, Limits: test.limits})
			request := chartRequest(t, test.files, test.values)
			_, err := atLast(func() (*RenderedChart, error) { return pool.RenderChart(context.Background(), request) })
			if reason, _ := manifest.ReasonOf(err); !slices.Contains(test.want, reason) {
				t.Fatalf("got reason %q (%v), want one of %s", reason, err, test.want)
			}
			if test.limits.Output == 0 {
				mustRenderChart(t, pool)
			}
		})
	}
}

// aliasBomb is YAML that stands for a billion items.
func aliasBomb() string {
	text := "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := range 8 {
		text += fmt.Sprintf("a%d: &a%d [%s*a%d]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d, ", i), 9), i)
	}
	return text
}
