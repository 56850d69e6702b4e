package tracker

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

// SetRemoved says which objects an owner removed, in place of those before. The owner is told when a watch shows one of them
// again: no API server gives a UID twice, so the cluster was put back to a snapshot.
func (t *Tracker) SetRemoved(owner Owner, removed map[objects.Key]types.UID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(removed) == 0 {
		delete(t.removed, owner)
		return
	}
	t.removed[owner] = removed
}

// HasReturned is whether the watches show an object of that UID, and no target claims it.
func (t *Tracker) HasReturned(key objects.Key, uid types.UID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	seen, is := t.unrecorded[key]
	return is && seen.uid == uid
}

func (t *Tracker) removerOf(key objects.Key, uid types.UID) (remover Owner, is bool) {
	for owner, removed := range t.removed {
		if known, listed := removed[key]; listed && known == uid {
			return owner, true
		}
	}
	return Owner{}, false
}
