package tracker

import (
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daytwo-dev/daytwo/controllers/internal/managedfields"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

// Owner is the target that an object in a workload cluster belongs to.
type Owner struct {
	// Kind of the target, as in "AddonRelease".
	Kind string
	types.NamespacedName
}

// Seen is what a watch last saw of an object.
type Seen struct {
	// Gone: the watch knows of no such object. It was deleted, or lost our label. Of what it was, only its UID and
	// its Health.End are told, if the watch saw how it went.
	Gone            bool
	UID             types.UID
	ResourceVersion string
	Fingerprint     string
	// Untouched is the fingerprint that it has when there is nothing of others that they may not.
	Untouched string
	// Tolerated are the field managers that set something that stays.
	Tolerated []string
	// Rules is the version of the rules that it was assessed with.
	Rules  string
	Health Health
	// Object holds the metadata of an object whose fingerprint is not the expected one, to tell who
	// changed what. Nil otherwise. Large metadata are there in part, and then without managedFields.
	Object *metav1.PartialObjectMetadata
	// At is when the event was received.
	At time.Time
}

// Expectation is what an object should look like when nobody has changed it.
type Expectation struct {
	UID         types.UID
	Fingerprint string
	// ResourceVersion of the answer to our last apply; older observations say nothing. Empty after a
	// restart of the manager, when every observation counts.
	ResourceVersion string
}

// Tracker knows, for one workload cluster, which target owns which object, what each should look
// like, and what the watches saw of it. Of objects that no target claims it keeps the
// names, up to a bound. It outlives connections. Safe for concurrent use.
type Tracker struct {
	mu      sync.Mutex
	objects map[objects.Key]*tracked
	// claims is how many were made.
	claims uint64
	kinds  map[schema.GroupKind]*kind
	// unrecorded are objects that no target claims.
	unrecorded map[objects.Key]unrecorded
	// removed are objects that a target removed, by their UIDs.
	removed map[Owner]map[objects.Key]types.UID
	// waiting are the targets that declare an object which another one has.
	waiting map[objects.Key]*queue
	notify  func(owner Owner, drifted bool)

	restoring sync.Mutex
	restored  map[string]bool
}

type tracked struct {
	owner Owner
	// claim is the number of the owner's.
	claim uint64
	// missed: it was the owner's before it was claimed, and no watch has shown it since.
	missed    bool
	expected  Expectation
	tolerance managedfields.Tolerance
	// inFlight: an apply is under way; its own event may come before its answer.
	inFlight int
	// failed: the last apply did not succeed; its owner tries again when it sees fit.
	failed bool
	seen   *Seen
}

// New returns an empty tracker. notify is called, without a lock held, for the owner of an
// object that drifted or whose health changed; it must not block.
func New(notify func(owner Owner, drifted bool)) *Tracker {
	return &Tracker{
		objects: map[objects.Key]*tracked{},
		kinds:   map[schema.GroupKind]*kind{},
		notify:  notify,

		unrecorded: map[objects.Key]unrecorded{},
		removed:    map[Owner]map[objects.Key]types.UID{},
		waiting:    map[objects.Key]*queue{},

		restored: map[string]bool{},
	}
}

// Notify tells an owner of a change that the tracker does not see, such as one among the objects of a selection.
func (t *Tracker) Notify(owner Owner, drifted bool) { t.notify(owner, drifted) }

// Restore runs a function once for each kind of target: it is to claim what the targets of that kind
// own already, before the first watch lists it. If it fails, the next call runs it again.
func (t *Tracker) Restore(kind string, claim func(*Tracker) error) error {
	t.restoring.Lock()
	defer t.restoring.Unlock()
	if t.restored[kind] {
		return nil
	}
	if err := claim(t); err != nil {
		return err
	}
	t.restored[kind] = true
	return nil
}

// IsMissed is whether an object was claimed late: a watch that had listed before says nothing of it until it changes.
func (t *Tracker) IsMissed(key objects.Key) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	entry := t.objects[key]
	return entry != nil && entry.missed
}

// Tolerate records what others may set of a claimed object: nothing, until it is called. What was seen before is
// not assessed anew.
func (t *Tracker) Tolerate(key objects.Key, tolerance managedfields.Tolerance) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if entry := t.objects[key]; entry != nil {
		entry.tolerance = tolerance
	}
}

// Begin holds the events of an object back while an apply of it is in flight. End must follow.
func (t *Tracker) Begin(key objects.Key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if entry := t.objects[key]; entry != nil {
		entry.inFlight++
	}
}

// End lets events of the object through again. If the apply succeeded, applied says what the object
// should look like from now on; otherwise it is nil. A change that came after the apply is told to
// the owner now.
func (t *Tracker) End(key objects.Key, applied *Expectation) {
	t.mu.Lock()
	entry := t.objects[key]
	if entry == nil {
		t.mu.Unlock()
		return
	}
	entry.inFlight--
	entry.failed = applied == nil
	if applied != nil {
		entry.expected = *applied
	}
	owner, drifted := entry.owner, entry.inFlight == 0 && entry.drifted()
	if !drifted && entry.seen != nil {
		entry.seen.Object = nil
	}
	t.mu.Unlock()
	if drifted && applied != nil {
		t.notify(owner, true)
	}
}

// Look returns what was last seen of a claimed object, and whether that is drift. seen is nil if no
// watch has spoken of it yet.
func (t *Tracker) Look(key objects.Key) (seen *Seen, drifted bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	entry := t.objects[key]
	if entry == nil || entry.seen == nil {
		return nil, false
	}
	observation := *entry.seen
	return &observation, entry.drifted()
}

// Current returns what was last seen of a claimed object, and whether that is no older than our last
// apply of it.
func (t *Tracker) Current(key objects.Key) (seen Seen, current bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	entry := t.objects[key]
	if entry == nil || entry.seen == nil || entry.older() {
		return Seen{}, false
	}
	return *entry.seen, true
}

// Forget drops what was seen: the connection is gone, and with it the watches.
func (t *Tracker) Forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	clear(t.kinds)
	clear(t.unrecorded)
	for _, entry := range t.objects {
		entry.seen = nil
	}
}

// Observe takes one observation from a watch.
func (t *Tracker) Observe(key objects.Key, seen Seen) {
	t.mu.Lock()
	entry := t.objects[key]
	if entry == nil {
		t.mu.Unlock()
		return
	}
	owner := entry.owner
	tell, drifted := entry.take(seen)
	t.mu.Unlock()
	if tell {
		t.notify(owner, drifted)
	}
}
