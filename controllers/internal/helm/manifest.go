package helm

import (
	"bufio"
	"errors"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

// Objects are the objects that a record's manifest declares, as far as they can be told, and that do not
// have to be kept. Those without a namespace are in the release's, if their kind has one.
func Objects(manifest string) []objects.Ref {
	var refs []objects.Ref
	reader := yaml.NewYAMLReader(bufio.NewReader(strings.NewReader(manifest)))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) || err != nil {
			return refs
		}
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(document, &object.Object); err != nil || object.GetKind() == "" || object.GetName() == "" {
			continue
		}
		if !IsKept(object) {
			refs = append(refs, objects.RefOf(object))
		}
	}
}
