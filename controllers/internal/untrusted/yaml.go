package untrusted

import (
	"errors"
	"fmt"

	"go.yaml.in/yaml/v3"
)

const (
	// maxYAML bounds a YAML document in bytes: twice what etcd takes of an object.
	maxYAML = 3 << 20
	// maxNodes bounds what may begin a node in a YAML document. A parser takes about 200 bytes for each. A document of
	// 1 MiB, the largest definitions of public operators, has about 80,000.
	maxNodes = 250_000
)

// ErrAlias tells that a YAML document uses an alias. A few hundred bytes of aliases can stand for gigabytes.
var ErrAlias = errors.New("uses a YAML alias")

// ParseYAML parses the first document of a text of at most 3 MiB, without expanding anything. A document with an alias is
// ErrAlias.
func ParseYAML(text []byte) (*yaml.Node, error) {
	if len(text) > maxYAML || countNodes(text) > maxNodes {
		return nil, fmt.Errorf("is larger than %d MiB or holds more than %d values", maxYAML>>20, maxNodes)
	}
	document := &yaml.Node{}
	if err := yaml.Unmarshal(text, document); err != nil {
		return nil, err
	}
	if hasAlias(document) {
		return nil, ErrAlias
	}
	return document, nil
}

// countNodes is no less than the number of nodes that a parser would find.
func countNodes(text []byte) int {
	count := 0
	for _, b := range text {
		switch b {
		case '\n', '\r', ':', ',', '-', '[', '{', '?':
			count++
		}
	}
	return count
}

func hasAlias(node *yaml.Node) bool {
	if node.Kind == yaml.AliasNode {
		return true
	}
	for _, child := range node.Content {
		if hasAlias(child) {
			return true
		}
	}
	return false
}
