package charts

import (
	"bytes"
	"context"
	"encoding/json"
	"io"

	"go.yaml.in/yaml/v3"
)

// wholeIndex is the largest index, in bytes, that is parsed as a whole. YAML nodes take up to 100
// times their text, so that is some 50 MB at the worst.
const wholeIndex = 512 * 1024

// entry is one version of a chart in an index. URL is the first of its URLs, the one that Helm takes.
type entry struct{ Version, URL, Digest string }

// readIndex offers every version of the chart, and returns whether the index has the chart. A small
// index may be any YAML or JSON; of a large one, only the lines about the chart are parsed.
func (f *Fetcher) readIndex(ctx context.Context, body io.Reader, chart string, offer func(entry)) (bool, error) {
	head, err := io.ReadAll(io.LimitReader(body, wholeIndex+1))
	if err != nil {
		return false, err
	}
	if bytes.HasPrefix(bytes.TrimSpace(head), []byte("<")) {
		return false, errWebPage
	}
	if len(head) > wholeIndex {
		return readOutline(io.MultiReader(bytes.NewReader(head), body), chart, offer)
	}
	select {
	case f.parsing <- struct{}{}:
		defer func() { <-f.parsing }()
	case <-ctx.Done():
		return false, ctx.Err()
	}
	if json.Valid(head) {
		return readJSON(head, chart, offer)
	}
	return readYAML(head, chart, offer)
}

func readJSON(text []byte, chart string, offer func(entry)) (bool, error) {
	var index struct {
		Entries map[string][]struct {
			Version string   `json:"version"`
			URLs    []string `json:"urls"`
			Digest  string   `json:"digest"`
		} `json:"entries"`
	}
	if err := json.Unmarshal(text, &index); err != nil {
		return false, malformed("it is JSON with other fields than an index has")
	}
	if index.Entries == nil {
		return false, errNoEntries
	}
	versions, there := index.Entries[chart]
	for _, v := range versions {
		offer(entry{Version: v.Version, URL: first(v.URLs), Digest: v.Digest})
	}
	return there, nil
}

func first(urls []string) string {
	if len(urls) == 0 {
		return ""
	}
	return urls[0]
}

var (
	errNoEntries = malformed("it has no entries; is it the URL of a chart repository?")
	errWebPage   = malformed("it is a web page; is it the URL of a chart repository?")
)

func readYAML(text []byte, chart string, offer func(entry)) (bool, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return false, malformed("%s", err.Error())
	}
	if len(document.Content) == 0 {
		return false, malformed("it is empty")
	}
	entries := child(document.Content[0], "entries")
	if entries == nil {
		return false, errNoEntries
	}
	versions := child(entries, chart)
	if versions == nil {
		return false, nil
	}
	for _, version := range versions.Content {
		offer(entry{Version: scalar(child(version, "version")), URL: firstURL(child(version, "urls")), Digest: scalar(child(version, "digest"))})
	}
	return true, nil
}

// child returns the value of a key, or nil. Aliases are followed for values of a version only:
// followed everywhere, a small text can lead to billions of nodes.
func child(mapping *yaml.Node, key string) *yaml.Node {
	if mapping == nil || mapping.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return mapping.Content[i+1]
		}
	}
	return nil
}

func scalar(node *yaml.Node) string {
	node = resolved(node)
	if node == nil || node.Kind != yaml.ScalarNode {
		return ""
	}
	return node.Value
}

func firstURL(node *yaml.Node) string {
	node = resolved(node)
	if node == nil || node.Kind != yaml.SequenceNode || len(node.Content) == 0 {
		return ""
	}
	return scalar(node.Content[0])
}

func resolved(node *yaml.Node) *yaml.Node {
	if node != nil && node.Kind == yaml.AliasNode {
		return node.Alias
	}
	return node
}
