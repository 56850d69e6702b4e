package render

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
	chart "helm.sh/helm/v4/pkg/chart/v2"

	"github.com/daytwo-dev/daytwo/controllers/internal/render/manifest"
)

// maxViolations is how many violations of a schema a message names.
const maxViolations = 10

// checkSchemas checks a chart's values, and those of its subcharts, against their schemas, as Helm
// does and with the library that Helm uses. Helm's own function fetches what a schema refers to
// from anywhere, files included, and quotes values in its errors.
func checkSchemas(c *chart.Chart, values map[string]any) *manifest.Error {
	return checkSchemasBelow(c, "", values)
}

func checkSchemasBelow(c *chart.Chart, at string, values map[string]any) *manifest.Error {
	if c.Schema != nil {
		if failure := checkSchema(c, at, values); failure != nil {
			return failure
		}
	}
	for _, subchart := range c.Dependencies() {
		inner, isMapping := values[subchart.Name()].(map[string]any)
		if !isMapping {
			// Coalescing has made it one unless there is nothing to check.
			continue
		}
		if failure := checkSchemasBelow(subchart, below(at, subchart.Name()), inner); failure != nil {
			return failure
		}
	}
	return nil
}

func checkSchema(c *chart.Chart, at string, values map[string]any) *manifest.Error {
	where := fmt.Sprintf("the values.schema.json of the chart %s", c.Name())
	compiled, err := compileSchema(c.Schema)
	var outside *jsonschema.LoadURLError
	if errors.As(err, &outside) {
		return manifest.ChartRefusedf("%s refers to %s: nothing is fetched for a schema, so the chart's author has to put it into the file itself (under $defs)", where, shown(outside.URL))
	}
	if err != nil {
		return manifest.ChartRefusedf("%s is not a JSON schema that can be used: %s", where, oneLine(err.Error()))
	}
	var invalid *jsonschema.ValidationError
	if errors.As(compiled.Validate(values), &invalid) {
		return manifest.ValuesInvalidf("the values are not what %s allows: %s", where, violations(at, invalid))
	}
	return nil
}

func compileSchema(schema []byte) (*jsonschema.Schema, error) {
	const name = "file:///values.schema.json"
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return nil, err
	}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(noLoader{})
	if err := compiler.AddResource(name, parsed); err != nil {
		return nil, err
	}
	return compiler.Compile(name)
}

// noLoader fetches nothing. A urn that nobody resolves allows everything, as it does in Helm.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	if strings.HasPrefix(url, "urn:") {
		return true, nil
	}
	return nil, errors.New("it is not part of the chart")
}

// violations lists where values break a schema, and how, without the values.
func violations(at string, invalid *jsonschema.ValidationError) string {
	found := map[string]bool{}
	collectViolations(at, invalid, found)
	all := slices.Sorted(maps.Keys(found))
	if more := len(all) - maxViolations; more > 0 {
		all = append(all[:maxViolations], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(all, "; ")
}

// collectViolations goes to the leaves: what is around them says only that something below fails.
func collectViolations(at string, invalid *jsonschema.ValidationError, found map[string]bool) {
	for _, cause := range invalid.Causes {
		collectViolations(at, cause, found)
	}
	if len(invalid.Causes) > 0 {
		return
	}
	for _, step := range invalid.InstanceLocation {
		if _, err := strconv.Atoi(step); err == nil {
			at = fmt.Sprintf("%s[%s]", at, step)
			continue
		}
		at = below(at, step)
	}
	if at == "" {
		at = "at the top"
	}
	found[at+": "+violation(invalid.ErrorKind)] = true
}

// violation words what is wrong. The library's own words are used where they have no value in them.
func violation(broken jsonschema.ErrorKind) string {
	switch k := broken.(type) {
	case *kind.Format:
		return "is not a valid " + k.Want
	case *kind.Pattern:
		return fmt.Sprintf("does not match the pattern %q", k.Want)
	case *kind.Minimum:
		return "is less than " + k.Want.RatString()
	case *kind.Maximum:
		return "is more than " + k.Want.RatString()
	case *kind.ExclusiveMinimum:
		return "is not more than " + k.Want.RatString()
	case *kind.ExclusiveMaximum:
		return "is not less than " + k.Want.RatString()
	case *kind.MultipleOf:
		return "is no multiple of " + k.Want.RatString()
	case *kind.MinLength:
		return fmt.Sprintf("is shorter than %d characters", k.Want)
	case *kind.MaxLength:
		return fmt.Sprintf("is longer than %d characters", k.Want)
	case *kind.ContentEncoding, *kind.ContentMediaType:
		return "is not encoded as " + strings.Join(k.KeywordPath(), ".") + " says"
	}
	return broken.LocalizedString(message.NewPrinter(language.English))
}
