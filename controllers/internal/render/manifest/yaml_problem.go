package manifest

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
)

var (
	// The parser names no line if it is the first, and then its words must be known: others quote values.
	yamlSyntax    = regexp.MustCompile(`^yaml: (?:line (\d+): ([^\n]*)|((?:did not find|could not find|found|mapping values are|block sequence entries are|control characters are)[^\n]*))$`)
	yamlDuplicate = regexp.MustCompile(`\bline (\d+): key (".*") already set in map`)
	// yamlGrammar are the words of the parser's grammar, which counts lines from 0. Its scanner counts them from 1.
	yamlGrammar = regexp.MustCompile(`^did not find expected (?:key|'-' indicator|',' or |node content|<)`)
)

// yamlProblem says what the YAML parser found, and on which line. Only messages that are known to be the parser's own words are
// passed on: others quote values.
func yamlProblem(err error, d Document) string {
	if match := yamlSyntax.FindStringSubmatch(err.Error()); match != nil {
		words := match[2] + match[3]
		line := 1
		if match[1] != "" {
			line = number(match[1])
		}
		if yamlGrammar.MatchString(words) {
			line++
		}
		return fmt.Sprintf("line %s is not valid YAML: %s", d.line(line), words)
	}
	if match := yamlDuplicate.FindStringSubmatch(err.Error()); match != nil {
		return fmt.Sprintf("line %s sets the key %s again: remove one of the two", d.line(number(match[1])), match[2])
	}
	return fmt.Sprintf("the document that starts on line %s is not valid YAML: "+
		"quote values that start with *, &, !, { or [, and keys that are not plain words", d.line(1))
}

// line names a line of a document, from 1, by its number in the whole text. The end of a document is on its last line.
func (d Document) line(inDocument int) string {
	inDocument = min(inDocument, bytes.Count(d.Text, []byte("\n")))
	name := strconv.Itoa(d.Line + inDocument - 1)
	if d.Rendered {
		name += " of the rendered text"
	}
	return name
}

// number is of digits; 1 if they are too many.
func number(digits string) int {
	if n, err := strconv.Atoi(digits); err == nil {
		return n
	}
	return 1
}
