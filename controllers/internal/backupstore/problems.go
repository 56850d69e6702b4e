package backupstore

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"unicode"

	"github.com/daytwo-dev/daytwo/controllers/internal/truncate"
)

const (
	// maxProblems is how many errors and warnings of a backup are kept together.
	maxProblems = 5
	// maxWords is how long one of them is, and maxOrigin what it is about, in bytes without the sign of what was cut.
	maxWords  = 240
	maxOrigin = 63
	// maxDepth is how deep values may be in one another: Velero's are four deep.
	maxDepth = 16
)

// Problem is an error or a warning of a backup.
type Problem struct {
	// Origin is a namespace; "cluster" for an object without one, "velero" for Velero itself.
	Origin string
	// Words are Velero's, in one line.
	Words string
	// IsWarning tells a warning from an error.
	IsWarning bool
}

// errNoResults tells that a file with the results of a backup is none.
var errNoResults = errors.New("it holds no results of a backup")

// readProblems reads the errors and warnings of a backup, by pkg/util/results of Velero 1.18:
//
//	{"errors": {"velero": ["..."], "cluster": ["..."], "namespaces": {"shop": ["..."]}}, "warnings": {...}}
//
// It keeps no more than it returns, whatever the file holds, and does not read on when it has enough.
func readProblems(content io.Reader) ([]Problem, error) {
	tokens := json.NewDecoder(content)
	if first, err := tokens.Token(); err != nil || first != json.Delim('{') {
		return nil, cannotRead(err, errNoResults)
	}
	var found, warnings []Problem
	for path := (jsonPath{""}); len(path) > 0; {
		token, err := tokens.Token()
		if err != nil {
			return nil, cannotRead(err, errNoResults)
		}
		text, isText := path.next(token)
		if len(path) > maxDepth {
			return nil, errNoResults
		}
		if !isText {
			continue
		}
		problem := Problem{Origin: path.origin(), Words: text}
		switch path[0] {
		case "errors":
			found = problem.addTo(found)
		case "warnings":
			problem.IsWarning = true
			warnings = problem.addTo(warnings)
		}
		if len(found) == maxProblems {
			return found, nil
		}
	}
	return append(found, warnings[:min(len(warnings), maxProblems-len(found))]...), nil
}

// cannotRead is the failure of a read, or else what is wrong with what was read.
func cannotRead(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
}

// addTo adds a problem to others if there is room for it.
func (p Problem) addTo(list []Problem) []Problem {
	if p.Origin == "" || len(list) == maxProblems {
		return list
	}
	p.Origin, p.Words = oneName(p.Origin, maxOrigin), oneLine(p.Words, maxWords)
	return append(list, p)
}

// oneLine is a text for a status, in one line and cut to so many bytes.
func oneLine(text string, most int) string { return truncate.Message(printable(text, 4*most), most) }

// oneName is a name in one line, as it is but for what is cut beyond so many bytes.
func oneName(name string, most int) string { return truncate.Cut(printable(name, 4*most), most) }

// printable is the start of a text without what a terminal would take for a command, with single spaces.
func printable(text string, most int) string {
	graphic := strings.Map(func(char rune) rune {
		if unicode.IsGraphic(char) {
			return char
		}
		return ' '
	}, strings.ToValidUTF8(text[:min(len(text), most)], ""))
	return strings.Join(strings.Fields(graphic), " ")
}

// jsonPath are the names under which a value stands: one for each object or array that it is in. An array has the name
// inArray.
type jsonPath []string

const inArray = "[]"

// next follows a token. It returns the text of a string in an array.
func (p *jsonPath) next(token json.Token) (text string, isText bool) {
	last := len(*p) - 1
	switch value := token.(type) {
	case json.Delim:
		switch value {
		case '{':
			*p = append(*p, "")
		case '[':
			*p = append(*p, inArray)
		default:
			*p = (*p)[:last]
			p.ended()
		}
	case string:
		if (*p)[last] == inArray {
			return value, true
		}
		if (*p)[last] == "" {
			(*p)[last] = value
			return "", false
		}
		p.ended()
	default:
		p.ended()
	}
	return "", false
}

// ended: a value has ended, and another name follows in an object.
func (p jsonPath) ended() {
	if last := len(p) - 1; last >= 0 && p[last] != inArray {
		p[last] = ""
	}
}

// origin of a string in the results; empty for one that stands where Velero writes none.
func (p jsonPath) origin() string {
	switch {
	case len(p) == 3 && p[2] == inArray && (p[1] == "velero" || p[1] == "cluster"):
		return p[1]
	case len(p) == 4 && p[3] == inArray && p[1] == "namespaces":
		return p[2]
	}
	return ""
}
