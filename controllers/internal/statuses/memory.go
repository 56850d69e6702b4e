package statuses

import (
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/daytwo-dev/daytwo/controllers/internal/perobject"
)

// Memory holds the [Latest] of each object of a kind. The zero value is empty. Safe for concurrent use.
type Memory[T client.Object] struct{ perobject.Memory[Latest[T]] }

// CaughtUp lets every event through, and forgets what was written as soon as the cache shows it: a status may be large.
func (m *Memory[T]) CaughtUp() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(updated event.UpdateEvent) bool {
		if latest := m.Find(client.ObjectKeyFromObject(updated.ObjectNew)); latest != nil {
			latest.shown(updated.ObjectNew.(T))
		}
		return true
	}}
}
