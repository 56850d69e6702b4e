package render

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"text/template"
	"unicode/utf8"

	"github.com/daytwo-dev/daytwo/controllers/internal/render/manifest"
)

// Source is one template and what to call it in errors.
type Source struct {
	// Name tells a person where the text is from: "spec.source.manifests.inline", "configmap/more-manifests/web.yaml".
	Name string `json:"name"`
	// Text is the template, UTF-8.
	Text string `json:"text"`
}

// isTemplate is whether something in the text is replaced when it is rendered.
func (s Source) isTemplate() bool { return strings.Contains(s.Text, "{{") }

// Cluster is what templates know of the cluster they are rendered for.
type Cluster struct {
	// Name and Namespace of the TenantCluster.
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	// Labels of the TenantCluster.
	Labels map[string]string `json:"labels"`
	// Version of its Kubernetes, major and minor: "1.36".
	Version string `json:"version"`
}

// values is a dictionary throughout, so that a missing key is the same error at every level and
// get, hasKey and index work on labels.
func (c Cluster) values() map[string]any {
	labels := make(map[string]any, len(c.Labels))
	for name, value := range c.Labels {
		labels[name] = value
	}
	return map[string]any{"Cluster": map[string]any{
		"Name": c.Name, "Namespace": c.Namespace, "Labels": labels, "Version": c.Version,
	}}
}

// executor executes one request's templates, all of which share the output limit.
type executor struct {
	functions template.FuncMap
	values    map[string]any
	limit     int
	written   int
}

// execute returns what the source renders to.
func (e *executor) execute(source Source) ([]byte, *manifest.Error) {
	parsed, err := e.parse(source)
	if err != nil {
		return nil, templateError(source, err)
	}
	output, err := e.run(parsed)
	if errors.Is(err, errOutputLimit) {
		return nil, outputExceeded(e.limit)
	}
	if err != nil {
		return nil, templateError(source, err)
	}
	if !utf8.Valid(output) {
		return nil, manifest.InvalidManifestf("%s renders to bytes that are not UTF-8: put binary content into a ConfigMap's binaryData or a Secret's data, as base64", source.Name)
	}
	return output, nil
}

// parseAll reads the templates and executes none.
func (e *executor) parseAll(sources []Source) *manifest.Error {
	for _, source := range sources {
		if _, err := e.parse(source); err != nil {
			return templateError(source, err)
		}
	}
	return nil
}

func (e *executor) parse(source Source) (*template.Template, error) {
	return template.New(source.Name).Option("missingkey=error").Funcs(e.functions).Parse(source.Text)
}

// run returns errOutputLimit when all that was run together writes more than the limit.
func (e *executor) run(parsed *template.Template) ([]byte, error) {
	output := &limitedBuffer{executor: e}
	err := parsed.Execute(output, e.values)
	return output.Bytes(), err
}

var errOutputLimit = errors.New("output limit")

// limitedBuffer counts against its executor's limit, and ends the execution when that is reached.
type limitedBuffer struct {
	bytes.Buffer
	executor *executor
}

func (b *limitedBuffer) Write(p []byte) (int, error) {
	b.executor.written += len(p)
	if b.executor.written > b.executor.limit {
		return 0, errOutputLimit
	}
	return b.Buffer.Write(p)
}

var (
	templatePosition = regexp.MustCompile(`^:(\d+)(?::\d+)?: `)
	missingKey       = regexp.MustCompile(`map has no entry for key (".*")`)
	unknownFunction  = regexp.MustCompile(`function (".*") not defined`)
	// quoted text of more than three characters, and what stands behind the first word of a piece of
	// the template: either may be a secret's value.
	quoted  = regexp.MustCompile("\"(?:\\\\.|[^\"\\\\]){4,}\"|`[^`]{4,}`")
	excerpt = regexp.MustCompile(`at <([.$\w]*)[^>]*>`)
)

// knownKeys tells whoever used another key what to do.
const knownKeys = "templates know .Cluster.Name, .Cluster.Namespace, .Cluster.Labels and .Cluster.Version; " +
	`add a missing label to the TenantCluster, or read it with {{ get .Cluster.Labels "name" | default "value" }}`

// withoutValues keeps an error from quoting what a template holds.
func withoutValues(text string) string {
	return quoted.ReplaceAllString(excerpt.ReplaceAllString(text, "at <$1>"), `"…"`)
}

// templateError puts text/template's message ("template: NAME:LINE:COLUMN: …") into words for
// whoever wrote the template.
func templateError(source Source, err error) *manifest.Error {
	text := strings.TrimPrefix(err.Error(), "template: "+source.Name)
	where := source.Name
	if position := templatePosition.FindStringSubmatch(text); position != nil {
		where = fmt.Sprintf("%s, line %s", source.Name, position[1])
		text = strings.TrimPrefix(text, position[0])
	}
	text = strings.TrimPrefix(text, fmt.Sprintf("executing %q ", source.Name))
	if match := missingKey.FindStringSubmatch(text); match != nil {
		return manifest.TemplateFailedf("%s: %s: %s", where, excerpt.ReplaceAllString(text, "at <$1>"), knownKeys)
	}
	if match := unknownFunction.FindStringSubmatch(text); match != nil {
		return manifest.TemplateFailedf("%s: there is no function %s: only pure functions are offered, the documentation lists them", where, match[1])
	}
	return manifest.TemplateFailedf("%s: %s: correct the template", where, withoutValues(text))
}
