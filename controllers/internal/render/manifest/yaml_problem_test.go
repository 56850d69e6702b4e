package manifest

import (
	"strings"
	"testing"
)

// The lines are those on which an editor shows what is wrong.
func TestAnErrorNamesTheLineOfTheFile(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"first line":                      {"a: b: c\n", "line 1 is not valid YAML: mapping values"},
		"first line, a character":         {"a: @b\n", "line 1 is not valid YAML: found character"},
		"second line":                     {"x: y\na: b: c\n", "line 2 is not valid YAML: mapping values"},
		"a character":                     {"x: y\na: @b\nz: 1\n", "line 2 is not valid YAML: found character"},
		"an escape":                       {"x: y\na: \"\\q\"\n", "line 2 is not valid YAML: found unknown escape"},
		"a tab":                           {"a: b\n\tc: d\n", "line 2 is not valid YAML: found a tab"},
		"an open list":                    {"a: [b\nc: d\n", "line 2 is not valid YAML: did not find expected ',' or ']'"},
		"an open list, further down":      {"x: 1\na: [b\nc: d\n", "line 3 is not valid YAML: did not find expected ',' or ']'"},
		"an open list at the end":         {"{a: b\n", "line 1 is not valid YAML: did not find expected ',' or '}'"},
		"indentation":                     {"a:\n  - b\n c: d\n", "line 3 is not valid YAML: did not find expected key"},
		"an item among keys":              {"x: y\n- a\nz: 1\n", "line 2 is not valid YAML: did not find expected key"},
		"a key among items":               {"- a\nb: c\n", "line 2 is not valid YAML: did not find expected '-' indicator"},
		"a block that ends":               {"a: |\n  x\n y: z\n", "line 3 is not valid YAML: did not find expected key"},
		"an open quote":                   {"x: 1\na: \"b\nc: d\n", "line 3 is not valid YAML: found unexpected end"},
		"no colon, on the last line":      {"key: value\nother\n", "line 2 is not valid YAML: could not find expected ':'"},
		"no newline at the end":           {"x: 1\na: [b", "line 2 is not valid YAML: did not find expected ',' or ']'"},
		"in the second document":          {"x: 1\n---\nx: y\na: b: c\n", "line 4 is not valid YAML: mapping values"},
		"after a comment and a separator": {"# what this is\n---\na: b: c\n", "line 3 is not valid YAML: mapping values"},
		"on the line of a separator":      {"x: 1\n--- a: b: c\n", "line 2 is not valid YAML: mapping values"},
		"after three documents":           {"x: 1\n---\n---\nx: 2\n---\n- a\nb: c\n", "line 7 is not valid YAML: did not find expected '-' indicator"},
		"a key twice":                     {"x: 1\n---\na: b\nc: d\na: e\n", `line 5 sets the key "a" again`},
		"an alias":                        {"x: 1\n---\na: *b\n", "the document that starts on line 2 is not valid YAML"},
	} {
		t.Run(name, func(t *testing.T) {
			problem := ""
			for _, d := range splitDocuments([]byte(test.text)) {
				// Only what is wrong as YAML counts here.
				if failure := NewCollector().AddDocument("inline", d); failure != nil && (strings.Contains(failure.Message, "YAML") || strings.Contains(failure.Message, "again")) {
					problem = failure.Message
				}
			}
			if !strings.Contains(problem, test.want) {
				t.Errorf("got %q, want %q in it", problem, test.want)
			}
		})
	}
}
