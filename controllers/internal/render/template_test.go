package render

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/daytwo-dev/daytwo/controllers/internal/render/functions"
	"github.com/daytwo-dev/daytwo/controllers/internal/render/manifest"
)

func execute(text string, limit int) (string, *manifest.Error) {
	request := inline(text)
	e := executor{functions: functions.All(), values: request.Cluster.values(), limit: limit}
	output, failure := e.execute(request.Sources[0])
	return string(output), failure
}

func TestTemplatesKnowTheCluster(t *testing.T) {
	for text, want := range map[string]string{
		`{{ .Cluster.Namespace }}/{{ .Cluster.Name }} {{ .Cluster.Version }}`: "customer-acme/prod 1.36",
		`{{ .Cluster.Labels.tier }}`:                                          "gold",
		`{{ index .Cluster.Labels "topology.kubernetes.io/zone" }}`:           "a",
		`{{ get .Cluster.Labels "size" | default "small" }}`:                  "small",
		`{{ if hasKey .Cluster.Labels "size" }}x{{ end }}`:                    "",
		`{{ if semverCompare ">=1.30" .Cluster.Version }}new{{ end }}`:        "new",
		`{{ toYaml .Cluster.Labels | nindent 2 }}`:                            "\n  tier: gold\n  topology.kubernetes.io/zone: a",
		`{{ squote "it's" }}`:                                                 "'it''s'",
		`{{ b64enc "x" | b64dec }}`:                                           "x",
		`{{ index (list "a" "b") 1 }}`:                                        "b",
		`{{ printf "%d%%p" 5 }}`:                                              "5%p",
	} {
		got, failure := execute(text, 1000)
		if failure != nil || got != want {
			t.Errorf("%s: got %q, %v, want %q", text, got, failure, want)
		}
	}
}

func TestTemplateErrorsNameTheKeyAndTheLine(t *testing.T) {
	for text, want := range map[string]string{
		"\n\n{{ .Cluster.Foo }}":             `inline, line 3: at <.Cluster.Foo>: map has no entry for key "Foo"`,
		"{{ .Values.replicas }}":             `no entry for key "Values"`,
		"{{ .Cluster.Labels.size }}":         `no entry for key "size"`,
		`{{ index .Cluster.Labels "size" }}`: `no entry for key "size"`,
		`{{ index (list 1) 1 }}`:             "a list of 1 has no element 1",
		`{{ index 5 1 }}`:                    "cannot index",
		"\n{{ env \"HOME\" }}":               `inline, line 2: there is no function "env"`,
		"{{ if }}":                           "inline, line 1: missing value for if",
		`{{ fail "pick a tier" }}`:           "pick a tier",
		`{{ b64dec "?" }}`:                   "not base64",
		`{{ printf "%#p" .Cluster }}`:        "no %p",
		`{{ indent -1 "x" }}`:                "negative Repeat count",
		`{{ b64dec "/w==" }}`:                "not UTF-8",
	} {
		_, failure := execute(text, 1000)
		if failure == nil || !strings.Contains(failure.Message, want) {
			t.Errorf("%s: got %v, want %q in it", text, failure, want)
		}
	}
}

func TestOutputOfNestedTemplatesCounts(t *testing.T) {
	_, failure := execute(`{{ define "a" }}12345{{ end }}{{ template "a" }}{{ template "a" }}`, 9)
	if failure == nil || failure.Reason != manifest.OutputLimitExceeded {
		t.Errorf("got %v, want OutputLimitExceeded", failure)
	}
}

func TestNoFunctionIsImpure(t *testing.T) {
	offered := functions.All()
	for _, name := range []string{
		"env", "expandenv", "getHostByName", "now", "date", "ago", "uuidv4", "randAlphaNum", "randInt", "randBytes",
		"shuffle", "genCA", "genPrivateKey", "genSignedCert", "htpasswd", "bcrypt", "encryptAES", "keys", "values",
	} {
		if offered[name] != nil {
			t.Errorf("%s is offered to templates", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(offered)) {
		// Funcs panics on a value that is no function, as a name that sprig does not know gives.
		template.New(name).Funcs(template.FuncMap{name: offered[name]})
	}
}
