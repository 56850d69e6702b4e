package apply

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

// excuseLateKinds turns "no such kind" into something that the next try may mend, where the add-on brings
// the kind along: an API server may say of a definition that it is established, and yet serve the kind, or
// list it, a moment later only.
func excuseLateKinds(declared []Object, written []Written) {
	var brought map[schema.GroupKind]bool
	for i := range written {
		if !meta.IsNoMatchError(written[i].Err) {
			continue
		}
		if brought == nil {
			brought = kindsBrought(declared)
		}
		if _, ok := brought[written[i].GroupKind()]; ok {
			written[i].Err = fmt.Errorf("%s is defined, but not served yet", written[i].GroupKind())
		}
	}
}

// kindsBrought are the kinds that the definitions among declared objects define.
func kindsBrought(declared []Object) map[schema.GroupKind]bool {
	var definitions []*unstructured.Unstructured
	for _, one := range declared {
		definition := &unstructured.Unstructured{}
		if one.GroupKind() == objects.DefinitionKind && definition.UnmarshalJSON(one.Body) == nil { // It was serialized here.
			definitions = append(definitions, definition)
		}
	}
	return objects.DefinedKinds(definitions)
}
