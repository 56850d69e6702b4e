package helm

import (
	"bufio"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/untrusted"
)

// maxObjects is how many objects are looked for in a manifest. A record holds at most 1 MiB, compressed.
const maxObjects = 10_000

// Objects are the objects that a record's manifest declares, as far as they can be told, and that do not
// have to be kept. Those without a namespace are in the release's, if their kind has one. A document that uses YAML
// aliases is left out: whoever wrote the record could make it stand for gigabytes.
func Objects(manifest string) []objects.Ref {
	var refs []objects.Ref
	reader := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(manifest)))
	for len(refs) < maxObjects {
		document, err := reader.Read()
		if err != nil {
			return refs
		}
		parsed, err := untrusted.ParseYAML(document)
		if err != nil {
			continue
		}
		var head objectHead
		if err := parsed.Decode(&head); err != nil || head.Kind == "" || head.Metadata.Name == "" {
			continue
		}
		if !IsKept(&metav1.ObjectMeta{Annotations: head.Metadata.Annotations}) {
			refs = append(refs, objects.Ref{
				GroupVersionKind: schema.FromAPIVersionAndKind(head.APIVersion, head.Kind), Namespace: head.Metadata.Namespace, Name: head.Metadata.Name,
			})
		}
	}
	return refs
}

// objectHead is what is read of an object.
type objectHead struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string `yaml:"kind"`
	Metadata   struct {
		Name        string            `yaml:"name"`
		Namespace   string            `yaml:"namespace"`
		Annotations map[string]string `yaml:"annotations"`
	} `yaml:"metadata"`
}
