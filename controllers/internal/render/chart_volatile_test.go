package render

import (
	"context"
	"strings"
	"testing"
)

func TestOnlyWhatCannotBeRepeatedIsVolatile(t *testing.T) {
	pool := newTestPool(t, Options{Workers: 1})
	for template, want := range map[string]bool{
		configMap(`{{ .Values.a }} {{ .Release.Name }} {{ .Capabilities.KubeVersion }} {{ .Chart.Version }}`): false,
		configMap(`"{{ .Release.Revision }}"`):                                                               true,
		configMap(`{{ if .Release.IsUpgrade }}a{{ else }}b{{ end }}`):                                        true,
		configMap(`a{{ if .Release.IsUpgrade }}{{ fail "only installs" }}{{ end }}`):                         true,
		configMap(`{{ .Capabilities.APIVersions.Has "example.com/v1" }}x`):                                   true,
		configMap(`{{ .Capabilities.APIVersions.Has "apps/v1" }}x`):                                          false,
		configMap(`{{ (lookup "v1" "ConfigMap" "a" "b").data.x }}x`):                                         true,
		configMap(`{{ len (lookup "v1" "ConfigMap" "a" "absent") }}x`):                                       false,
		configMap(`{{ randAlphaNum 1 }}x`):                                                                   true,
		configMap(`{{ randInt 0 2 }}x`):                                                                      true,
		configMap(`{{ randInt 7 8 }}x`):                                                                      false,
		configMap(`{{ shuffle "ab" }}`):                                                                      true,
		configMap(`{{ uuidv4 }}`):                                                                            true,
		configMap(`x{{ bcrypt .Values.a }}`):                                                                 true,
		configMap(`{{ .Values.a | default (randAlphaNum 10) }}`):                                             false,
		configMap(`{{ .Values.b | default (randAlphaNum 10) }}`):                                             true,
		configMap(`"{{ now | date "2006" }}"`):                                                               true,
		configMap(`{{ date "Monday" "" }}`):                                                                  true,
		configMap(`{{ date "January" 86400 }}`):                                                              false,
		configMap(`{{ htmlDate "" }}x`):                                                                      true,
		configMap(`{{ ago (toDate "2006-01-02" "2020-01-01") }}`):                                            true,
		configMap(`{{ durationRound (toDate "2006-01-02" "2020-01-01") }}`):                                  true,
		configMap(`{{ durationRound "2400h" }}`):                                                             false,
		configMap(`{{ dateInZone "15:04 MST" (toDate "2006-01-02" "2020-07-01") "Europe/Berlin" | quote }}`): false,
		configMap(`{{ keys .Values.many | join "-" }}-{{ values .Values.many | join "-" }}`):                 false,
		strings.Replace(configMap(`x`), "name: settings", `name: settings, annotations: {"helm.sh/hook": pre-install, "helm.sh/hook-weight": "{{ .Release.Revision }}"}`, 1): true,
		strings.Replace(configMap(`x`), "name: settings", `name: settings-{{ .Release.Revision }}`, 1):                                                                       true,
		`{{ if .Release.IsInstall }}` + configMap("x") + `{{ end }}`:                                                                                                         true,
	} {
		files := valkey(template).with(entries{"templates/NOTES.txt": "{{ .Release.Revision }} {{ now }}"})
		request := chartRequest(t, files, "a: text\nmany: {a: 1, b: 2, c: 3, d: 4, e: 5, f: 6}")
		request.Capabilities.APIVersions = []string{"v1", "apps/v1", "example.com/v1"}
		request.Lookup = func(_ context.Context, _, _, _, name string) (map[string]any, error) {
			if name == "absent" {
				return nil, nil
			}
			return map[string]any{"data": map[string]any{"x": "found"}}, nil
		}
		result, err := pool.RenderChart(context.Background(), request)
		if err != nil {
			t.Errorf("%s: %v", template, err)
			continue
		}
		if result.Volatile != want {
			t.Errorf("%s: volatile is %t, want %t", template, result.Volatile, want)
		}
	}
}

func TestTheFirstRenderingIsReturned(t *testing.T) {
	pool := newTestPool(t, Options{Workers: 1})
	got, err := rendersTo(t, pool, `"{{ .Release.Revision }} {{ .Release.IsInstall }} {{ dateInZone "15:04 MST" (toDate "2006-01-02" "2020-07-01") "Europe/Berlin" }}"`)
	if err != nil || got != "1 true 02:00 CEST" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestAChartRendersTheSameInEveryWorker(t *testing.T) {
	request := chartRequest(t, nested(t))
	var first string
	for range 5 {
		result, err := newTestPool(t, Options{Workers: 1}).RenderChart(context.Background(), request)
		if err != nil {
			t.Fatal(err)
		}
		if result.Volatile {
			t.Fatal("it is said to be volatile")
		}
		if first == "" {
			first = string(result.Record)
		}
		if first != string(result.Record) {
			t.Fatalf("two renderings differ:\n%s\n%s", first, result.Record)
		}
	}
}
