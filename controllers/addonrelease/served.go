package addonrelease

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// excuseLateKinds turns "no such kind" into something that the next try may mend, where the add-on brings
// the kind along: an API server may say of a definition that it is established, and yet serve the kind, or
// list it, a moment later only.
func excuseLateKinds(declared []desired, written []written) {
	var brought map[schema.GroupKind]bool
	for i := range written {
		if !meta.IsNoMatchError(written[i].err) {
			continue
		}
		if brought == nil {
			brought = kindsBrought(declared)
		}
		if brought[written[i].GroupKind()] {
			written[i].err = fmt.Errorf("%s is defined, but not served yet", written[i].GroupKind())
		}
	}
}

// kindsBrought are the kinds that the definitions among declared objects define.
func kindsBrought(declared []desired) map[schema.GroupKind]bool {
	brought := map[schema.GroupKind]bool{}
	for _, one := range declared {
		if one.GroupKind() != definitionKind {
			continue
		}
		var definition struct {
			Spec struct {
				Group string `json:"group"`
				Names struct {
					Kind string `json:"kind"`
				} `json:"names"`
			} `json:"spec"`
		}
		if json.Unmarshal(one.body, &definition) == nil { // The API server tells what is wrong with it.
			brought[schema.GroupKind{Group: definition.Spec.Group, Kind: definition.Spec.Names.Kind}] = true
		}
	}
	return brought
}
