package manifest

import (
	"bytes"
	"fmt"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// Document is one YAML document of what a source renders to.
type Document struct {
	// Number counts the documents of the source that are not empty, from 1.
	Number int
	// Line of the text on which it starts, from 1.
	Line int
	Text []byte
	// Rendered: the text is not what people wrote, but what that renders to.
	Rendered bool
}

// splitDocuments splits at the lines that YAML defines as the start ("---") and end ("...") of a
// document. Documents of blank lines and comments only are left out.
func splitDocuments(text []byte) []Document {
	var documents []Document
	current := Document{Number: 1, Line: 1}
	finish := func() {
		if current.IsEmpty() {
			return
		}
		if !bytes.HasSuffix(current.Text, []byte("\n")) {
			// As kubectl reads it: a block scalar at the end of a text keeps its own newline.
			current.Text = append(current.Text, '\n')
		}
		documents = append(documents, current)
		current.Number++
	}
	line := 0
	for content := range bytes.Lines(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))) {
		line++
		rest, isMarker := cutMarker(content)
		if !isMarker {
			current.Text = append(current.Text, content...)
			continue
		}
		finish()
		current.Line, current.Text = line, bytes.Clone(rest)
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

// IsEmpty is whether there is nothing in a document but blank lines and comments.
func (d Document) IsEmpty() bool {
	for line := range bytes.Lines(d.Text) {
		trimmed := bytes.TrimSpace(line)
		if len(trimmed) > 0 && trimmed[0] != '#' {
			return false
		}
	}
	return true
}

// Collector gathers the objects of one request.
type Collector struct {
	// Objects that were added, in their order.
	Objects []map[string]any
	// seen says where each object was found first.
	seen map[objectKey]string
	// Lenient accepts a key that is set twice, as Helm does: the later one counts.
	Lenient bool
	// FirstCounts ignores an object that was seen before instead of refusing it.
	FirstCounts bool
}

// NewCollector returns a collector that has no objects yet.
func NewCollector() *Collector { return &Collector{seen: map[objectKey]string{}} }

// AddSource adds the objects of a source's text. Rendered: it is not what people wrote, but what that renders to.
func (c *Collector) AddSource(name string, text []byte, rendered bool) *Error {
	for _, d := range splitDocuments(text) {
		d.Rendered = rendered
		if failure := c.AddDocument(fmt.Sprintf("%s, document %d", name, d.Number), d); failure != nil {
			return failure
		}
	}
	return nil
}

// AddDocument adds the objects of one document; where says for people which one it is.
func (c *Collector) AddDocument(where string, d Document) *Error {
	toJSON := yaml.YAMLToJSONStrict
	if c.Lenient {
		toJSON = yaml.YAMLToJSON
	}
	encoded, err := toJSON(d.Text)
	if err != nil {
		return InvalidManifestf("%s: %s", where, yamlProblem(err, d))
	}
	var value any
	if err := utiljson.Unmarshal(encoded, &value); err != nil {
		return InvalidManifestf("%s is nested too deeply or holds a number that JSON cannot", where)
	}
	if value == nil {
		return nil
	}
	return c.add(where, value)
}

// add checks and keeps one object, or each item of a list.
func (c *Collector) add(where string, value any) *Error {
	object, isObject := value.(map[string]any)
	if !isObject {
		return InvalidManifestf("%s is not an object: a manifest starts with apiVersion, kind and metadata", where)
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
		if c.FirstCounts {
			return nil
		}
		return InvalidManifestf("%s is the same object as in %s: remove one of them", where, first)
	}
	if len(c.Objects) == MaxObjects {
		return TooManyObjects()
	}
	if failure := clean(where, object); failure != nil {
		return failure
	}
	c.seen[key] = where
	c.Objects = append(c.Objects, object)
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

func (c *Collector) addList(where string, list map[string]any) *Error {
	items, isList := list["items"].([]any)
	if !isList {
		return InvalidManifestf("%s: items of the List is not a list", where)
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
