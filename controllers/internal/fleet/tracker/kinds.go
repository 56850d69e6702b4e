package tracker

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

// KindState is what the watch of a kind knows. The zero value is a kind that is about to be listed.
type KindState struct {
	// Listed: the watch has listed what is there, since the cluster was last connected.
	Listed bool
	// Unknown says why the kind cannot be listed or watched at the moment; empty while it can. What was seen of
	// its objects before may be outdated.
	Unknown string
}

// Pending is whether the first list is neither complete nor known to fail.
func (s KindState) Pending() bool { return !s.Listed && s.Unknown == "" }

// kind is what a tracker knows of the watch of a kind.
type kind struct {
	KindState
	// awaited: a target asked for the kind before it was listed.
	awaited bool
}

// Kind returns how far the watch of a kind is. Of what is not listed yet, all owners of objects of the kind hear
// when it is.
func (t *Tracker) Kind(of schema.GroupKind) KindState {
	t.mu.Lock()
	defer t.mu.Unlock()
	known := t.kindLocked(of)
	known.awaited = known.awaited || !known.Listed
	return known.KindState
}

func (t *Tracker) kindLocked(of schema.GroupKind) *kind {
	if t.kinds[of] == nil {
		t.kinds[of] = &kind{}
	}
	return t.kinds[of]
}

// SetUnknown records why a kind cannot be watched, empty if it can, and tells the owners of its objects.
func (t *Tracker) SetUnknown(of schema.GroupKind, reason string) {
	t.mu.Lock()
	t.kindLocked(of).Unknown = reason
	owners := map[Owner]bool{}
	for key, entry := range t.objects {
		if key.GroupKind == of {
			owners[entry.owner] = true
		}
	}
	t.mu.Unlock()
	for owner := range owners {
		t.notify(owner, false)
	}
}

// Horizon is how far the tracker knows a kind when a list of it is asked for.
type Horizon struct {
	// newest version at which an object of the kind was applied; empty if none is known. The list is no older, unless the
	// cluster was restored from a snapshot.
	newest string
	// claims so far: of objects that are claimed later, the list may say nothing.
	claims uint64
}

// Horizon of a kind, for a list that is asked for from now on.
func (t *Tracker) Horizon(of schema.GroupKind) Horizon {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := Horizon{claims: t.claims}
	for key, entry := range t.objects {
		if version := entry.expected.ResourceVersion; key.GroupKind == of && (h.newest == "" || IsOlder(h.newest, version)) {
			h.newest = version
		}
	}
	return h
}

// Replace takes a whole list from a watch, as of a resource version: what is claimed and not in it was
// gone then. What was applied since is not in it either. The horizon is that of before the list was asked for: an older
// list tells that versions went backwards, so that all of it counts. What was claimed since may have been in the list, which
// was read without it.
func (t *Tracker) Replace(of schema.GroupKind, list map[objects.Key]Seen, version string, before Horizon, at time.Time) {
	t.mu.Lock()
	known := t.kindLocked(of)
	awaited := known.awaited
	known.Listed, known.awaited = true, false
	backwards := IsOlder(version, before.newest)
	owners := map[Owner]bool{}
	for key, entry := range t.objects {
		if key.GroupKind != of {
			continue
		}
		if backwards {
			entry.expected.ResourceVersion = ""
		}
		seen, ok := list[key]
		drifted := false
		switch {
		case ok:
			_, drifted = entry.take(seen)
		case entry.claim <= before.claims:
			_, drifted = entry.take(Seen{Gone: true, ResourceVersion: version, At: at})
		}
		// Every owner hears of a list: some wait for it. One whose apply fails as its watch begins is not to
		// try again because of that.
		if drifted || awaited || !entry.trying() {
			owners[entry.owner] = owners[entry.owner] || drifted
		}
	}
	t.mu.Unlock()
	for owner, drifted := range owners {
		t.notify(owner, drifted)
	}
}

// IsOlder compares two resource versions; false if either is unknown.
func IsOlder(version, than string) bool {
	if version == "" || than == "" {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(version, than)
	return err == nil && order < 0
}
