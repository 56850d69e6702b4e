package render

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/daytwo-dev/daytwo/controllers/internal/render/manifest"
)

// maskedLength is from how many characters on a string of the values is kept out of messages:
// shorter ones are mostly words such as "true", that would be missed.
const maskedLength = 6

// mask takes the strings of values, and what Secrets hold that were looked up, out of a text, also
// where they are quoted or in base64.
type mask struct{ replacer *strings.Replacer }

func newMask(values map[string]any, secrets []any) mask {
	var hidden []string
	hide := func(text string) {
		for _, part := range []string{text, strings.TrimSpace(text)} {
			if len(part) < maskedLength {
				continue
			}
			quoted := strconv.Quote(part)
			hidden = append(hidden, part, quoted[1:len(quoted)-1], base64.StdEncoding.EncodeToString([]byte(part)))
		}
	}
	eachString(values, hide)
	eachString(secrets, func(encoded string) {
		hide(encoded)
		if decoded, err := base64.StdEncoding.DecodeString(encoded); err == nil {
			hide(string(decoded))
		}
	})
	// Of two that start alike the longer one.
	slices.SortFunc(hidden, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	pairs := make([]string, 0, 2*len(hidden))
	for _, text := range hidden {
		pairs = append(pairs, text, "…")
	}
	return mask{strings.NewReplacer(pairs...)}
}

// hide returns the text on one line and without the values.
func (m mask) hide(text string) string { return oneLine(m.replacer.Replace(text)) }

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// location is where in the chart a step of a trace is: valkey/templates/a.yaml:3:14. It stands on
// a line of its own where Helm has formatted the trace.
var location = regexp.MustCompile(`(?m)(?:^\s*|template: )(\S+:\d+:\d+)(?:$|:)`)

// hideInTrace is hide, except that it leaves locations alone: a value may be the chart's name.
func (m mask) hideInTrace(text string) string {
	var parts []string
	from := 0
	for _, found := range location.FindAllStringSubmatchIndex(text, -1) {
		parts = append(parts, m.hide(text[from:found[0]]), text[found[2]:found[3]]+":")
		from = found[1]
	}
	parts = append(parts, m.hide(text[from:]))
	return strings.TrimSpace(strings.Join(parts, " "))
}

func eachString(value any, visit func(string)) {
	switch value := value.(type) {
	case map[string]any:
		for _, inner := range value {
			eachString(inner, visit)
		}
	case []any:
		for _, inner := range value {
			eachString(inner, visit)
		}
	case string:
		visit(value)
	}
}

var (
	// ownWords are those of the chart's author, passed to required or fail.
	ownWords = regexp.MustCompile(`(?s)^execution error at \(([^)]*)\): (.*)$`)
	notRead  = regexp.MustCompile(`(?s)^parse error (?:at|in) \(([^)]*)\): (.*)$`)
	// named is a quoted text that is a name, or may be a value.
	named = regexp.MustCompile("(function |key |no template |associated with template )?(?:\"(?:\\\\.|[^\"\\\\]){4,}\"|`[^`]{4,}`)")
	// executing repeats the location that stands before it.
	executing = regexp.MustCompile(`executing "[^"]*" at <([.$\w]*)[^>]*>:`)
	iterated  = regexp.MustCompile(`(range can't iterate over) .*`)
)

// chartError puts an error of Helm's engine into one line for whoever wrote the values. What the
// engine says holds places and keys, which stay, and may quote values, which do not.
func chartError(err error, hidden mask) *manifest.Error {
	text := err.Error()
	if match := ownWords.FindStringSubmatch(text); match != nil {
		return manifest.TemplateFailedf("%s: the chart says: %s", match[1], hidden.hide(match[2]))
	}
	if match := notRead.FindStringSubmatch(text); match != nil {
		return manifest.TemplateFailedf("%s: the chart's template cannot be read: %s: use another version of the chart", match[1], hidden.hide(match[2]))
	}
	text = iterated.ReplaceAllString(text, "$1 what is no list or mapping")
	text = executing.ReplaceAllString(text, "at <$1>:")
	text = named.ReplaceAllStringFunc(text, func(quoted string) string {
		if strings.HasPrefix(quoted, `"`) || strings.HasPrefix(quoted, "`") {
			return `"…"`
		}
		return quoted
	})
	return manifest.TemplateFailedf("%s: correct the values that it reads, or use another version of the chart", shortTrace(hidden.hideInTrace(text)))
}

// shortTrace leaves out steps in the middle: templates include each other up to 1,000 times.
func shortTrace(trace string) string {
	const step = "error calling include: "
	steps := strings.Split(trace, step)
	if len(steps) <= 5 {
		return trace
	}
	return strings.Join([]string{steps[0], "… ", steps[len(steps)-2], steps[len(steps)-1]}, step)
}

var subchartMismatch = regexp.MustCompile(`^type mismatch on ([^:]+):`)

// coalesceError says why values cannot be merged with the chart's; Helm would quote them.
func coalesceError(err error) *manifest.Error {
	if match := subchartMismatch.FindStringSubmatch(err.Error()); match != nil {
		return manifest.ValuesInvalidf("the values have %s as something else than a mapping: it holds the values of the subchart %s", match[1], match[1])
	}
	return manifest.ValuesInvalidf("the values cannot be merged with those of the chart: give each subchart a mapping")
}

var (
	sortedFile   = regexp.MustCompile(`^YAML parse error on ([^:]+): `)
	notOfStrings = regexp.MustCompile(`into Go struct field [^ ]*\.metadata\.annotations`)
)

// manifestError says why Helm cannot read what a template renders to.
func manifestError(err error) *manifest.Error {
	where := "a template"
	if match := sortedFile.FindStringSubmatch(err.Error()); match != nil {
		where = match[1]
	}
	if notOfStrings.MatchString(err.Error()) {
		return manifest.InvalidManifestf("%s renders to an annotation that is not a string: quote it in the values", where)
	}
	problem := "check the values that it reads for what YAML gives a meaning, such as *, &, !, { and ["
	if match := layerSyntax.FindStringSubmatch(err.Error()); match != nil {
		problem = fmt.Sprintf("line %s of it: %s", match[1], match[2])
	}
	return manifest.InvalidManifestf("%s renders to a document that is not valid YAML: %s", where, problem)
}
