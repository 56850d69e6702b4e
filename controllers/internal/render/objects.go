package render

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// document is one YAML document of what a source renders to.
type document struct {
	// number counts the documents of the source that are not empty, from 1.
	number int
	// line of the rendered text on which it starts, from 1.
	line int
	text []byte
}

// splitDocuments splits at the lines that YAML defines as the start ("---") and end ("...") of a
// document. Documents of blank lines and comments only are left out.
func splitDocuments(text []byte) []document {
	var documents []document
	current := document{number: 1, line: 1}
	finish := func() {
		if current.isEmpty() {
			return
		}
		if !bytes.HasSuffix(current.text, []byte("\n")) {
			// As kubectl reads it: a block scalar at the end of a text keeps its own newline.
			current.text = append(current.text, '\n')
		}
		documents = append(documents, current)
		current.number++
	}
	line := 0
	for content := range bytes.Lines(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))) {
		line++
		rest, isMarker := cutMarker(content)
		if !isMarker {
			current.text = append(current.text, content...)
			continue
		}
		finish()
		current.line, current.text = line, bytes.Clone(rest)
	}
	finish()
	return documents
}

// cutMarker returns what follows a document marker on its line.
func cutMarker(line []byte) (rest []byte, isMarker bool) {
	for _, marker := range []string{"---", "..."} {
		rest, isMarker = bytes.CutPrefix(line, []byte(marker))
		if isMarker && (len(rest) == 0 || bytes.IndexByte([]byte(" \t\r\n"), rest[0]) >= 0) {
			return rest, true
		}
	}
	return nil, false
}

func (d document) isEmpty() bool {
	for line := range bytes.Lines(d.text) {
		trimmed := bytes.TrimSpace(line)
		if len(trimmed) > 0 && trimmed[0] != '#' {
			return false
		}
	}
	return true
}

// collector gathers the objects of one request.
type collector struct {
	objects []map[string]any
	// seen says where each object was found first.
	seen map[objectKey]string
	// lenient accepts a key that is set twice, as Helm does: the later one counts.
	lenient bool
	// firstCounts ignores an object that was seen before instead of refusing it.
	firstCounts bool
}

func newCollector() *collector { return &collector{seen: map[objectKey]string{}} }

// addSource adds the objects of a source's rendered text.
func (c *collector) addSource(name string, text []byte) *Error {
	for _, d := range splitDocuments(text) {
		if failure := c.addDocument(fmt.Sprintf("%s, document %d", name, d.number), d); failure != nil {
			return failure
		}
	}
	return nil
}

func (c *collector) addDocument(where string, d document) *Error {
	toJSON := yaml.YAMLToJSONStrict
	if c.lenient {
		toJSON = yaml.YAMLToJSON
	}
	encoded, err := toJSON(d.text)
	if err != nil {
		return invalidManifest("%s: %s", where, yamlProblem(err, d.line))
	}
	var value any
	if err := utiljson.Unmarshal(encoded, &value); err != nil {
		return invalidManifest("%s is nested too deeply or holds a number that JSON cannot", where)
	}
	if value == nil {
		return nil
	}
	return c.add(where, value)
}

// add checks and keeps one object, or each item of a list.
func (c *collector) add(where string, value any) *Error {
	object, isObject := value.(map[string]any)
	if !isObject {
		return invalidManifest("%s is not an object: a manifest starts with apiVersion, kind and metadata", where)
	}
	if isListOfObjects(object) {
		return c.addList(where, object)
	}
	key, failure := checkIdentity(where, object)
	if failure != nil {
		return failure
	}
	where = fmt.Sprintf("%s (%s %q)", where, key.kind, key.name)
	if first, taken := c.seen[key]; taken {
		if c.firstCounts {
			return nil
		}
		return invalidManifest("%s is the same object as in %s: remove one of them", where, first)
	}
	if len(c.objects) == MaxObjects {
		return objectsExceeded()
	}
	if failure := clean(where, object); failure != nil {
		return failure
	}
	c.seen[key] = where
	c.objects = append(c.objects, object)
	return nil
}

// isListOfObjects reports whether a manifest is a List, or one of a kind, such as a RoleList, as
// Kubernetes recognizes them: by name, and by items beside metadata.
func isListOfObjects(object map[string]any) bool {
	if object["apiVersion"] == "v1" && object["kind"] == "List" {
		return true
	}
	kind, _ := object["kind"].(string)
	_, hasItems := object["items"].([]any)
	return hasItems && strings.HasSuffix(kind, "List")
}

func (c *collector) addList(where string, list map[string]any) *Error {
	items, isList := list["items"].([]any)
	if !isList {
		return invalidManifest("%s: items of the List is not a list", where)
	}
	for i, item := range items {
		inheritType(item, list)
		if failure := c.add(fmt.Sprintf("%s, item %d", where, i+1), item); failure != nil {
			return failure
		}
	}
	return nil
}

// inheritType gives an item the type that its list is of, if it names none: items of a RoleList
// are Roles.
func inheritType(item any, list map[string]any) {
	object, isObject := item.(map[string]any)
	kind := strings.TrimSuffix(list["kind"].(string), "List")
	if !isObject || kind == "" || object["kind"] != nil {
		return
	}
	object["kind"] = kind
	if object["apiVersion"] == nil {
		object["apiVersion"] = list["apiVersion"]
	}
}

var (
	yamlSyntax    = regexp.MustCompile(`^yaml: line (\d+): ([^\n]*)$`)
	yamlDuplicate = regexp.MustCompile(`\bline (\d+): key (".*") already set in map`)
)

// yamlProblem says what the YAML parser found, on which line of the rendered text. Only messages
// that are known to be the parser's own words are passed on: others quote values.
func yamlProblem(err error, firstLine int) string {
	if match := yamlSyntax.FindStringSubmatch(err.Error()); match != nil {
		return fmt.Sprintf("line %d of the rendered text is not valid YAML: %s", lineIn(match[1], firstLine), match[2])
	}
	if match := yamlDuplicate.FindStringSubmatch(err.Error()); match != nil {
		return fmt.Sprintf("line %d of the rendered text sets the key %s again: remove one of the two", lineIn(match[1], firstLine), match[2])
	}
	return fmt.Sprintf("the document that starts on line %d of the rendered text is not valid YAML: "+
		"quote values that start with *, &, !, { or [, and keys that are not plain words", firstLine)
}

func lineIn(relative string, firstLine int) int {
	line, err := strconv.Atoi(relative)
	if err != nil {
		return firstLine
	}
	return firstLine + line - 1
}
