package postponed

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/daytwo-dev/daytwo/controllers/internal/parallel"
	"github.com/daytwo-dev/daytwo/controllers/internal/perobject"
	"github.com/daytwo-dev/daytwo/controllers/internal/throttle"
)

// parallelWrites is how many statuses are written at a time when the manager ends.
const parallelWrites = 16

// Updates are those of the status of one object. S has all that a write needs. The zero value knows of none. It is for one
// worker at a time.
type Updates[S any] struct {
	throttle.Writes

	// unsaved is atomic for the one case of two workers: when the manager ends, what is left is written while a reconcile goes on that
	// did not end in time.
	unsaved atomic.Pointer[S]
}

// Begin forgets what was put off: the reconcile that begins finds out anew.
func (u *Updates[S]) Begin() { u.unsaved.Store(nil) }

// PutOff keeps a status if its time has not come, and returns how long that is; zero if it is to be written now.
func (u *Updates[S]) PutOff(status S, change throttle.Change, now time.Time) time.Duration {
	later := u.Due(change, now).Sub(now)
	if later <= 0 {
		return 0
	}
	u.unsaved.Store(&status)
	return later
}

// Memory holds the updates of all objects of a kind. The zero value is empty. It is safe for concurrent use.
type Memory[S any] struct{ perobject.Memory[Updates[S]] }

// WriteUnsaved has every status written that was put off. No reconcile may follow. One that is still under way, as it did not end in
// time, writes its status itself.
func (m *Memory[S]) WriteUnsaved(ctx context.Context, write func(ctx context.Context, object types.NamespacedName, status S) error) error {
	return WriteAll(m.Where(func(u *Updates[S]) bool { return u.unsaved.Load() != nil }), func(object types.NamespacedName) error {
		if unsaved := m.Of(object).unsaved.Swap(nil); unsaved != nil {
			return write(ctx, object, *unsaved)
		}
		return nil
	})
}

// WriteAll writes the statuses of objects, several at a time. One that fails keeps no other from being written.
func WriteAll(objects []types.NamespacedName, write func(object types.NamespacedName) error) error {
	return errors.Join(parallel.Map(len(objects), parallelWrites, func(i int) error { return write(objects[i]) })...)
}
