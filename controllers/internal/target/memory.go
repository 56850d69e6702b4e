package target

import (
	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/standstill"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
	"github.com/daytwo-dev/daytwo/controllers/internal/throttle"
)

// Known is what is remembered of a target, beyond what the cache has caught up with. All of it can be rebuilt from its
// status. One worker at a time touches it, since a target is never in two.
type Known[T metav1alpha1.Target, S, M any] struct {
	// Kind is what the kind remembers, Objects what is remembered of the target's objects.
	Kind    M
	Objects apply.Memory

	// unsaved is a status that is not written yet; nil if none is.
	unsaved *unsaved[S]
	// writes of the status.
	writes throttle.Writes
	// untold are corrections that neither the status nor unsaved tells of.
	untold untold
	// unfinished: what a declared target does beside its objects is not done, as far as is known. It can be found out anew.
	unfinished bool
	// reported is the drift that was left in place and counted, by the fingerprint that showed it.
	reported map[objects.Key]string
	// standstill is what is known of the target's first unhealthy object.
	standstill standstill.Memory
	// series of the target's metrics, to remove them by.
	series series
}

// unsaved is a status that was not written yet.
type unsaved[S any] struct {
	uid    types.UID
	status S
	// awaits what the watches are about to show. Otherwise it waits for its time.
	awaits bool
}

// Postpone keeps a status that waits for what the watches are about to show.
func (k *Known[T, S, M]) Postpone(target T, status S) {
	k.unsaved, k.untold = &unsaved[S]{uid: target.GetUID(), status: status, awaits: true}, untold{}
}

// putOff keeps a status that is written later.
func (k *Known[T, S, M]) putOff(target T, status S) {
	k.unsaved, k.untold = &unsaved[S]{uid: target.GetUID(), status: status}, untold{}
}

// Saved forgets the status that was postponed: it, or a newer one, is written.
func (k *Known[T, S, M]) Saved() { k.unsaved, k.untold = nil, untold{} }

// NotSaved keeps the corrections of which the status was to tell that could not be written.
func (k *Known[T, S, M]) NotSaved(o Observation, corrections []apply.Written) {
	k.untold = o.untold.and(corrections)
}

// Postponed returns the status of a target that was not written yet, if there is one. If it is lost with the manager, it
// is found out anew: what was about to be applied was written before.
func (k *Known[T, S, M]) Postponed(target T) (status *S, ok bool) {
	if k.unsaved == nil || k.unsaved.uid != target.GetUID() {
		return nil, false
	}
	return &k.unsaved.status, true
}

// isUnsaved is whether a status was not written yet.
func (k *Known[T, S, M]) isUnsaved() bool { return k.unsaved != nil }

// awaitedWatches is whether the status that was not written yet waited for what the watches were about to show.
func (k *Known[T, S, M]) awaitedWatches() bool { return k.unsaved != nil && k.unsaved.awaits }
