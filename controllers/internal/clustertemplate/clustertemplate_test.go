package clustertemplate

import (
	"strings"
	"testing"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

func prod() Cluster {
	return Cluster{
		ClusterReference:  metav1alpha1.ClusterReference{Namespace: "acme", Name: "prod"},
		ClusterParameters: metav1alpha1.ClusterParameters{Version: "1.36", Labels: map[string]string{"tier": "gold", "example.com/zone": "eu-1", "long": strings.Repeat("l", 63)}},
	}
}

func TestTextsAreExpanded(t *testing.T) {
	for text, want := range map[string]string{
		"":           "",
		"plain.test": "plain.test",
		"*.{{ .Cluster.Name }}.{{.Cluster.Namespace}}.test":   "*.prod.acme.test",
		"{{- .Cluster.Labels.tier -}}-{{ .Cluster.Version }}": "gold-1.36",
		`{{ index .Cluster.Labels "example.com/zone" }}.test`: "eu-1.test",
		"{{/* a comment */}}{{ .Cluster.Name }}":              "prod",
	} {
		got, err := Expand(text, prod())
		if err != nil || got != want {
			t.Errorf("%q became %q (%v), not %q", text, got, err, want)
		}
		if uses := strings.Contains(text, "{{ ."); uses && !Uses(text) {
			t.Errorf("%q is said to say nothing of the cluster", text)
		}
	}
	if Uses("plain.test") || Uses("{{ broken") {
		t.Error("plain texts are said to say something of the cluster")
	}
}

func TestTextsThatCannotBeExpandedAreRefused(t *testing.T) {
	for text, word := range map[string]string{
		"{{ .Cluster.Name":                                "cannot be read",
		"{{ .Cluster }}":                                  "is not possible here",
		"{{ .Cluster.UID }}":                              "is not possible here",
		"{{ .Cluster.Name.Length }}":                      "is not possible here",
		"{{ .Cluster.Labels }}":                           "is not possible here",
		"{{ .Cluster.Name | printf \"%100000d\" }}":       "cannot be read",
		"{{ index .Cluster.Name 0 }}":                     "is not possible here",
		"{{ range .Cluster.Labels }}x{{ end }}":           "is not possible here",
		"{{ if .Cluster.Name }}x{{ end }}":                "is not possible here",
		"{{ define \"x\" }}{{ end }}{{ template \"x\" }}": "is not possible here",
		"{{ $x := .Cluster.Name }}":                       "is not possible here",
		"{{ \"text\" }}":                                  "is not possible here",
	} {
		if err := Check(text); err == nil || !strings.Contains(err.Error(), word) || !strings.Contains(err.Error(), ".Cluster.Name }}") {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := Expand("{{ .Cluster.Labels.region }}", prod()); err == nil || !strings.Contains(err.Error(), "TenantCluster acme/prod has no label region") {
		t.Errorf("a label that is missing: %v", err)
	}
	if _, err := Expand(strings.Repeat("{{ .Cluster.Labels.long }}", 17), prod()); err == nil || !strings.Contains(err.Error(), "longer than") {
		t.Errorf("a long text: %v", err)
	}
}

func FuzzExpand(f *testing.F) {
	f.Add("*.{{ .Cluster.Name }}")
	f.Add(`{{ index .Cluster.Labels "a" }}{{ break }}`)
	f.Fuzz(func(t *testing.T, text string) {
		expanded, err := Expand(text, prod())
		if err == nil && len(expanded) > MaxLength {
			t.Errorf("%q became %d bytes", text, len(expanded))
		}
	})
}

func TestATextTellsCustomersApartByWhatTheyCannotChoose(t *testing.T) {
	for text, want := range map[string]bool{
		"a.{{ .Cluster.Name }}.{{ .Cluster.Namespace }}.test":         true,
		"{{ .Cluster.Name }}.test":                                    false,
		`{{ index .Cluster.Labels "Namespace" }}.test`:                false,
		`{{ index .Cluster.Labels "provider.daytwo.dev/zone" }}.test`: true,
		"plain.test": false,
	} {
		if got := TellsCustomersApart(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
