package charts

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxLine is how much of a line is looked at, in bytes. What matters is shorter; icons are not.
const maxLine = 8 * 1024

// errLayout means that a large index is not laid out as all programs that write large ones do.
var errLayout = malformed("it has more than %d bytes, and is not laid out in lines as helm repo index does it: make it again with that", wholeIndex)

// indexScanner reads an index line by line, and keeps nothing but the version that it is at. It knows
// block mappings and sequences by their indentation, and has the YAML parser read single values:
//
//	entries:
//	  web:                 a chart, at the indentation nameIndent
//	  - version: 1.2.3     a version, at itemIndent, which may be nameIndent
//	    urls:              its fields, at keyIndent
//	    - web-1.2.3.tgz
type indexScanner struct {
	chart string
	offer func(entry)

	sawEntries, inEntries bool
	nameIndent            int // 0: not known yet
	sawChart, inChart     bool
	itemIndent            int // -1: not known yet
	keyIndent             int // -1: not known yet
	inItem, inURLs        bool
	current               entry
}

func readOutline(text io.Reader, chart string, offer func(entry)) (bool, error) {
	o := &indexScanner{chart: chart, offer: offer}
	lines := bufio.NewReaderSize(text, maxLine)
	for {
		line, err := nextLine(lines)
		if err != nil && !errors.Is(err, io.EOF) {
			return false, err
		}
		if malformed := o.take(string(line)); malformed != nil {
			return false, malformed
		}
		if err != nil {
			break
		}
	}
	o.endItem()
	if !o.sawEntries {
		return false, errNoEntries
	}
	return o.sawChart, nil
}

// nextLine returns a line, or its first maxLine bytes.
func nextLine(lines *bufio.Reader) ([]byte, error) {
	line, err := lines.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return line, err
	}
	line = bytes.Clone(line)
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = lines.ReadSlice('\n')
	}
	return line, err
}

func (o *indexScanner) take(line string) error {
	line = strings.TrimRight(line, " \t\r\n")
	text := strings.TrimLeft(line, " ")
	indent := len(line) - len(text)
	switch {
	case text == "" || text[0] == '#':
		return nil
	case indent == 0:
		return o.root(text)
	case !o.inEntries:
		return nil
	}
	if o.nameIndent == 0 {
		o.nameIndent = indent
	}
	switch {
	case indent < o.nameIndent:
		return errLayout
	case indent == o.nameIndent && !isItem(text):
		return o.name(text)
	case !o.inChart:
		return nil
	}
	return o.within(indent, text)
}

// root takes a line without indentation.
func (o *indexScanner) root(text string) error {
	o.endItem()
	o.inEntries, o.inChart = false, false
	key, value, _ := splitKey(text)
	if key != "entries" {
		return nil
	}
	o.sawEntries, o.inEntries = true, true
	if value != "" {
		return errLayout
	}
	return nil
}

// name takes a line with the name of a chart.
func (o *indexScanner) name(text string) error {
	o.endItem()
	key, value, ok := splitKey(text)
	if !ok {
		return errLayout
	}
	o.inChart = key == o.chart
	if !o.inChart {
		return nil
	}
	o.sawChart = true
	o.itemIndent = -1
	if value != "" && value != "[]" {
		return errLayout
	}
	return nil
}

// within takes a line about the chart.
func (o *indexScanner) within(indent int, text string) error {
	if isItem(text) && (o.itemIndent < 0 || indent == o.itemIndent) {
		o.endItem()
		rest := strings.TrimLeft(text[1:], " ")
		o.itemIndent, o.keyIndent, o.inItem = indent, indent+len(text)-len(rest), true
		if rest == "" {
			o.keyIndent = -1
			return nil
		}
		if strings.ContainsRune("{[*&!|>", rune(rest[0])) {
			return errLayout
		}
		indent, text = o.keyIndent, rest
	}
	if o.keyIndent < 0 {
		o.keyIndent = indent
	}
	switch {
	case !o.inItem:
		return errLayout
	case indent == o.keyIndent && !isItem(text):
		return o.field(text)
	case o.inURLs && o.current.URL == "" && isItem(text):
		return parseScalar(text[1:], &o.current.URL)
	}
	return nil
}

// field takes a line with a key of a version.
func (o *indexScanner) field(text string) error {
	key, value, _ := splitKey(text)
	o.inURLs = key == "urls"
	switch key {
	case "version":
		return parseScalar(value, &o.current.Version)
	case "digest":
		return parseScalar(value, &o.current.Digest)
	case "urls":
		return o.flowURLs(value)
	}
	return nil
}

func (o *indexScanner) flowURLs(value string) error {
	if value == "" {
		return nil
	}
	var urls []string
	if err := yaml.Unmarshal([]byte(value), &urls); err != nil {
		return errLayout
	}
	o.current.URL = first(urls)
	return nil
}

func (o *indexScanner) endItem() {
	if o.inItem {
		o.offer(o.current)
	}
	o.current, o.inItem, o.inURLs = entry{}, false, false
}

func isItem(text string) bool { return text == "-" || strings.HasPrefix(text, "- ") }

// splitKey splits "key: value" and "key:". A value that is only a comment is empty.
func splitKey(text string) (key, value string, ok bool) {
	if strings.HasSuffix(text, ":") {
		key = text[:len(text)-1]
	} else if key, value, ok = strings.Cut(text, ": "); !ok {
		return "", "", false
	}
	value = strings.TrimSpace(value)
	if strings.HasPrefix(value, "#") {
		value = ""
	}
	if err := parseScalar(key, &key); err != nil {
		return "", "", false
	}
	return key, value, true
}

// parseScalar reads what stands on one line, plain or in quotes.
func parseScalar(text string, into *string) error {
	if isPlain(text) {
		*into = text
		return nil
	}
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(text), &document); err != nil {
		return errLayout
	}
	if len(document.Content) == 0 {
		*into = ""
		return nil
	}
	if document.Content[0].Kind != yaml.ScalarNode {
		return errLayout
	}
	*into = document.Content[0].Value
	return nil
}

// isPlain is whether a text is its own value: nearly all are, and parsers are slow.
func isPlain(text string) bool {
	for _, r := range text {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("._-/", r) {
			return false
		}
	}
	return !strings.HasPrefix(text, "-")
}
