package apply

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// UnknownKinds says which kinds of the release are unknown and why, the first of them in words of the cluster; empty
// if none is.
func (o Observation) UnknownKinds() string {
	if len(o.Unknown) == 0 {
		return ""
	}
	kinds := make([]schema.GroupKind, 0, len(o.Unknown))
	for kind := range o.Unknown {
		kinds = append(kinds, kind)
	}
	slices.SortFunc(kinds, func(a, b schema.GroupKind) int { return strings.Compare(a.String(), b.String()) })
	message := fmt.Sprintf("%s cannot be watched in the cluster: %s", kinds[0], o.Unknown[kinds[0]])
	if more := len(kinds) - 1; more > 0 {
		message += fmt.Sprintf(" (and %d more kinds)", more)
	}
	return message + "; whether these objects are as declared is not known, all others are kept as declared"
}
