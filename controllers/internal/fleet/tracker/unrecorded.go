package tracker

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

const (
	// MaxUnrecorded bounds what is kept of one cluster.
	MaxUnrecorded = 1000
	// maxKeyBytes is more than the namespace and the name of an object have, which are no longer than 63 and 253 bytes.
	maxKeyBytes = 512
	// maxExamples is how many objects are named.
	maxExamples = 5
	// unrecordedAfter is how long no target has claimed an object before that is told: claims come and go a moment
	// before or after the objects do.
	unrecordedAfter = 30 * time.Second
)

// Unrecorded are the objects in a cluster that carry the installation's label, and that no target has on record. They
// remain when the cluster or the management cluster was restored from a backup, and people make them when they copy
// an object with its labels. Only kinds are looked at that some target has objects of. What a controller made for
// another object, and what Helm keeps beside a release, is not counted.
type Unrecorded struct {
	// Count is at most MaxUnrecorded, also if there are more.
	Count int
	// Examples names some of them, in the order of their names.
	Examples string
}

// unrecorded is one of them.
type unrecorded struct {
	uid types.UID
	// since is when it was seen first.
	since time.Time
}

// Unrecorded returns what no target has claimed for a while.
func (t *Tracker) Unrecorded(now time.Time) Unrecorded {
	t.mu.Lock()
	defer t.mu.Unlock()
	var names []string
	for key, one := range t.unrecorded {
		if now.Sub(one.since) >= unrecordedAfter {
			names = append(names, key.String())
		}
	}
	slices.Sort(names)
	return Unrecorded{Count: len(names), Examples: strings.Join(names[:min(len(names), maxExamples)], ", ")}
}

// NoteUnrecorded takes in that a watch showed an object which no target had claimed then. The target that removed the very
// object is told.
func (t *Tracker) NoteUnrecorded(key objects.Key, uid types.UID, gone bool, at time.Time) {
	if owner, returned := t.noteUnrecorded(key, uid, gone, at); returned {
		t.notify(owner, false)
	}
}

func (t *Tracker) noteUnrecorded(key objects.Key, uid types.UID, gone bool, at time.Time) (remover Owner, returned bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, claimed := t.objects[key]; claimed || gone {
		delete(t.unrecorded, key)
		return Owner{}, false
	}
	known, isKnown := t.unrecorded[key]
	if len(key.Namespace)+len(key.Name) > maxKeyBytes || !isKnown && len(t.unrecorded) >= MaxUnrecorded || isKnown && known.uid == uid {
		return Owner{}, false
	}
	if isKnown {
		at = known.since
	}
	t.unrecorded[key] = unrecorded{uid: uid, since: at}
	return t.removerOf(key, uid)
}

// RetainUnrecorded ends what is known of a kind, but for the objects of a whole list.
func (t *Tracker) RetainUnrecorded(of schema.GroupKind, listed map[objects.Key]types.UID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for key := range t.unrecorded {
		if _, is := listed[key]; key.GroupKind == of && !is {
			delete(t.unrecorded, key)
		}
	}
}
