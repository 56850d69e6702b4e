package render

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"helm.sh/helm/v4/pkg/chart/v2/loader"

	"github.com/daytwo-dev/daytwo/controllers/internal/render/manifest"
)

// mergeLayers reads each layer, executes the templates in its strings, and merges them as Helm
// merges the files of several --values.
func mergeLayers(layers []ValuesLayer, executed *executor) (map[string]any, *manifest.Error) {
	merged := map[string]any{}
	for _, layer := range layers {
		values, err := loader.LoadValues(strings.NewReader(layer.Text))
		if err != nil {
			return nil, manifest.ValuesInvalidf("%s: %s", layer.Name, layerProblem(err))
		}
		f := filler{executor: executed, layer: layer.Name}
		if failure := f.fillMapping("", values); failure != nil {
			return nil, failure
		}
		merged = loader.MergeMaps(merged, values)
	}
	return merged, nil
}

var layerSyntax = regexp.MustCompile(`yaml: line (\d+): ([^\n]*)$`)

// layerProblem passes on only what the YAML parser says of its own: other messages quote values.
func layerProblem(err error) string {
	if match := layerSyntax.FindStringSubmatch(err.Error()); match != nil {
		return fmt.Sprintf("line %s is not valid YAML: %s", match[1], match[2])
	}
	return "it is not a YAML mapping of names to values: write `name: value`, one a line"
}

// filler executes the templates of one layer.
type filler struct {
	executor *executor
	layer    string
}

func (f filler) fillMapping(at string, values map[string]any) *manifest.Error {
	for _, key := range slices.Sorted(maps.Keys(values)) {
		filled, failure := f.fill(below(at, key), values[key])
		if failure != nil {
			return failure
		}
		values[key] = filled
	}
	return nil
}

// fill returns what takes the place of a value.
func (f filler) fill(at string, value any) (any, *manifest.Error) {
	switch value := value.(type) {
	case map[string]any:
		return value, f.fillMapping(at, value)
	case []any:
		for i, item := range value {
			filled, failure := f.fill(fmt.Sprintf("%s[%d]", at, i), item)
			if failure != nil {
				return nil, failure
			}
			value[i] = filled
		}
	case string:
		return f.fillString(at, value)
	}
	return value, nil
}

func (f filler) fillString(at, text string) (string, *manifest.Error) {
	if !strings.Contains(text, "{{") {
		return text, nil
	}
	parsed, err := f.executor.parse(Source{Name: "value", Text: text})
	if err != nil {
		// The parser's message quotes the value.
		return "", f.invalid(at, "it is not a template that can be read: only pure functions are offered, the documentation lists them; "+
			`write {{ "{{" }} where two braces are meant`)
	}
	output, err := f.executor.run(parsed)
	switch {
	case errors.Is(err, errOutputLimit):
		return "", outputExceeded(f.executor.limit)
	case err != nil:
		return "", f.invalid(at, executionProblem(err))
	case !utf8.Valid(output):
		return "", f.invalid(at, "it yields bytes that are not UTF-8")
	}
	return string(output), nil
}

func (f filler) invalid(at, problem string) *manifest.Error {
	return manifest.ValuesInvalidf("%s: %s: %s", f.layer, at, problem)
}

// failing is how text/template introduces what the function fail was given.
const failing = "error calling fail:"

// executionProblem says why a value's template cannot be executed.
func executionProblem(err error) string {
	text := strings.TrimPrefix(err.Error(), "template: value")
	if position := templatePosition.FindString(text); position != "" {
		text = strings.TrimPrefix(text, position)
	}
	text = strings.TrimPrefix(text, `executing "value" `)
	if match := missingKey.FindStringSubmatch(text); match != nil {
		return fmt.Sprintf("%s: %s", excerpt.ReplaceAllString(text, "at <$1>"), knownKeys)
	}
	// What fail is given may be a secret, as the whole layer may.
	if before, _, failed := strings.Cut(text, failing); failed {
		text = before + strings.TrimSuffix(failing, ":")
	}
	return withoutValues(text) + ": correct the template"
}

// below is the path of a key: image.tag, or annotations["example.com/tier"].
func below(at, key string) string {
	switch {
	case strings.ContainsAny(key, ".[]\""):
		return fmt.Sprintf("%s[%q]", at, key)
	case at == "":
		return key
	}
	return at + "." + key
}
