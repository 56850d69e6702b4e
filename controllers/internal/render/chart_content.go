package render

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	chart "helm.sh/helm/v4/pkg/chart/v2"
	release "helm.sh/helm/v4/pkg/release/v1"
	releaseutil "helm.sh/helm/v4/pkg/release/v1/util"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/daytwo-dev/daytwo/controllers/internal/render/manifest"
)

// chartContent is what a chart installs.
type chartContent struct {
	CRDs    []map[string]any `json:"crds,omitempty"`
	Objects []map[string]any `json:"objects,omitempty"`
	Hooks   []hookContent    `json:"hooks,omitempty"`
}

// hookContent is a Hook on its way.
type hookContent struct {
	Name           string         `json:"name"`
	Kind           string         `json:"kind"`
	Path           string         `json:"path"`
	Events         []string       `json:"events"`
	Weight         int            `json:"weight,omitempty"`
	DeletePolicies []string       `json:"deletePolicies"`
	Object         map[string]any `json:"object"`
}

func (h hookContent) hook() Hook {
	return Hook{
		Name: h.Name, Kind: h.Kind, Path: h.Path, Events: h.Events, Weight: h.Weight,
		DeletePolicies: h.DeletePolicies, Object: &unstructured.Unstructured{Object: h.Object},
	}
}

// contentOf checks and cleans what a chart renders to.
func contentOf(c *chart.Chart, result rendered) (chartContent, *manifest.Error) {
	crds, failure := collectCRDs(c)
	if failure != nil {
		return chartContent{}, failure
	}
	objects, failure := collectObjects(result.manifests)
	if failure != nil {
		return chartContent{}, failure
	}
	hooks, failure := collectHooks(result.hooks)
	if failure != nil {
		return chartContent{}, failure
	}
	if len(crds)+len(objects)+len(hooks) > manifest.MaxObjects {
		return chartContent{}, manifest.TooManyObjects()
	}
	return chartContent{CRDs: crds, Objects: objects, Hooks: hooks}, nil
}

func collectCRDs(c *chart.Chart) ([]map[string]any, *manifest.Error) {
	collected := manifest.NewCollector()
	collected.Lenient, collected.FirstCounts = true, true
	for _, crd := range c.CRDObjects() {
		if failure := addCRDs(collected, filepath.ToSlash(crd.Filename), crd.File.Data); failure != nil {
			return nil, failure
		}
	}
	return collected.Objects, nil
}

func collectObjects(manifests []releaseutil.Manifest) ([]map[string]any, *manifest.Error) {
	collected := manifest.NewCollector()
	collected.Lenient = true
	for _, one := range manifests {
		if failure := addTemplate(collected, one.Name, recordedContent(one)); failure != nil {
			return nil, failure
		}
	}
	return collected.Objects, nil
}

// addTemplate adds what one document of a chart's template renders to; Helm no longer knows which.
func addTemplate(c *manifest.Collector, path, text string) *manifest.Error {
	documents, failure := readDocuments(path, []byte(text), true)
	if failure != nil {
		return failure
	}
	for _, d := range documents {
		if failure := c.AddDocument(path, d); failure != nil {
			return failure
		}
	}
	return nil
}

// addCRDs adds what a file holds that is no template.
func addCRDs(c *manifest.Collector, path string, text []byte) *manifest.Error {
	documents, failure := readDocuments(path, text, false)
	if failure != nil {
		return failure
	}
	for _, d := range documents {
		if failure := c.AddDocument(fmt.Sprintf("%s, document %d", path, d.Number), d); failure != nil {
			return failure
		}
	}
	return nil
}

// readDocuments splits a text as Helm does when it applies it, by the reader of kube.Client.Build. That
// ends every line with a newline, the last one as well, so a block scalar at the end of a text keeps its
// own, and it knows no end of a document ("...").
func readDocuments(path string, text []byte, rendered bool) ([]manifest.Document, *manifest.Error) {
	reader := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	var documents []manifest.Document
	line := 1
	for {
		content, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return documents, nil
		}
		if err != nil {
			return nil, manifest.InvalidManifestf("%s: a line that starts with --- holds something else too: move it to the next line", path)
		}
		d := manifest.Document{Number: len(documents) + 1, Line: line, Text: content, Rendered: rendered}
		line += bytes.Count(content, []byte("\n")) + 1
		if !d.IsEmpty() {
			documents = append(documents, d)
		}
	}
}

func collectHooks(hooks []*release.Hook) ([]hookContent, *manifest.Error) {
	contents := make([]hookContent, 0, len(hooks))
	for _, hook := range hooks {
		content, failure := collectHook(hook)
		if failure != nil {
			return nil, failure
		}
		contents = append(contents, content)
	}
	// The order of action.execHook, which sorts those of one event in the same stable way.
	slices.SortStableFunc(contents, func(a, b hookContent) int {
		return cmp.Or(cmp.Compare(a.Weight, b.Weight), cmp.Compare(a.Name, b.Name))
	})
	return contents, nil
}

func collectHook(hook *release.Hook) (hookContent, *manifest.Error) {
	collected := manifest.NewCollector()
	collected.Lenient = true
	if failure := addTemplate(collected, hook.Path, hook.Manifest); failure != nil {
		return hookContent{}, failure
	}
	if len(collected.Objects) != 1 {
		return hookContent{}, manifest.InvalidManifestf("%s: the hook %s %s holds %d objects: a hook is one object, so a list has to be written as one document each",
			hook.Path, hook.Kind, shown(hook.Name), len(collected.Objects))
	}
	content := hookContent{
		Name: hook.Name, Kind: hook.Kind, Path: hook.Path, Events: texts(hook.Events), Weight: hook.Weight,
		DeletePolicies: texts(hook.DeletePolicies), Object: collected.Objects[0],
	}
	if len(content.DeletePolicies) == 0 {
		content.DeletePolicies = []string{release.HookBeforeHookCreation.String()}
	}
	return content, nil
}

// texts are the names of events or policies.
func texts[T ~string](names []T) []string {
	plain := make([]string, 0, len(names))
	for _, name := range names {
		plain = append(plain, string(name))
	}
	return plain
}
