package charts

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart"
	chartv2 "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
)

func eachChart(t *testing.T, test func(t *testing.T, name, version string)) {
	for _, name := range Names() {
		for _, version := range Versions() {
			t.Run(name+"-"+version, func(t *testing.T) { test(t, name, version) })
		}
	}
}

func dependencies(c *chartv2.Chart) []chart.Dependency {
	var all []chart.Dependency
	for _, dependency := range c.Metadata.Dependencies {
		all = append(all, dependency)
	}
	return all
}

func TestNamesAreTheDirectories(t *testing.T) {
	entries, err := sources.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	var directories []string
	for _, entry := range entries {
		directories = append(directories, entry.Name())
	}
	if !slices.Equal(directories, Names()) {
		t.Errorf("Names() = %v, but there are %v", Names(), directories)
	}
}

func TestArchiveHasItsNameAndVersion(t *testing.T) {
	eachChart(t, func(t *testing.T, name, version string) {
		chart, err := loader.LoadArchive(bytes.NewReader(archive(t, name, version)))
		if err != nil {
			t.Fatal(err)
		}
		if chart.Metadata.Name != name || chart.Metadata.Version != version {
			t.Errorf("the archive is %s %s", chart.Metadata.Name, chart.Metadata.Version)
		}
		if err := action.CheckDependencies(chart, dependencies(chart)); err != nil {
			t.Error(err)
		}
		for _, file := range chart.Raw {
			if strings.HasPrefix(file.Name, overlays+"/") {
				t.Errorf("%s, which is of the sources alone, is in the archive", file.Name)
			}
		}
	})
}

func TestArchiveIsTheSameEachTime(t *testing.T) {
	eachChart(t, func(t *testing.T, name, version string) {
		if !bytes.Equal(archive(t, name, version), archive(t, name, version)) {
			t.Error("two archives differ")
		}
	})
}

func TestArchiveNamesWhatThereIs(t *testing.T) {
	if _, err := Archive("wep", FirstVersion); err == nil || !strings.Contains(err.Error(), "web") {
		t.Errorf("an unknown chart ends with %v, which does not name web", err)
	}
	if _, err := Archive("web", "2.0.0"); err == nil || !strings.Contains(err.Error(), SecondVersion) {
		t.Errorf("an unknown version ends with %v, which does not name %s", err, SecondVersion)
	}
}

// Only messages below a warning are let pass.
func TestHelmLintHasNothingToSay(t *testing.T) {
	eachChart(t, func(t *testing.T, name, version string) {
		file := filepath.Join(t.TempDir(), name+"-"+version+".tgz")
		if err := os.WriteFile(file, archive(t, name, version), 0o600); err != nil {
			t.Fatal(err)
		}
		lint := action.NewLint()
		lint.Strict, lint.Namespace = true, "shop"
		result := lint.Run([]string{file}, values(name))
		for _, err := range result.Errors {
			t.Error(err)
		}
		for _, message := range result.Messages {
			if message.Severity >= support.InfoSev {
				t.Error(message)
			}
		}
	})
}

func TestEveryChartRendersWithNotes(t *testing.T) {
	eachChart(t, func(t *testing.T, name, version string) {
		if notes := rendered(t, name, version, values(name)).Info.Notes; strings.TrimSpace(notes) == "" {
			t.Error("there are no notes")
		}
	})
}
