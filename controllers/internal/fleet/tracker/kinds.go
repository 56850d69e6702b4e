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

// Newest returns the newest version at which an object of the kind was applied; empty if none is known. A list
// that is asked for from now on is no older, unless the cluster was restored from a snapshot.
func (t *Tracker) Newest(of schema.GroupKind) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	newest := ""
	for key, entry := range t.objects {
		if version := entry.expected.ResourceVersion; key.GroupKind == of && (newest == "" || IsOlder(newest, version)) {
			newest = version
		}
	}
	return newest
}

// Replace takes a whole list from a watch, as of a resource version: what is claimed and not in it was
// gone then. What was applied since is not in it either. The floor is what Newest returned before the list was
// asked for: an older list tells that versions went backwards, so that all of it counts.
func (t *Tracker) Replace(of schema.GroupKind, list map[objects.Key]Seen, version, floor string, at time.Time) {
	t.mu.Lock()
	known := t.kindLocked(of)
	awaited := known.awaited
	known.Listed, known.awaited = true, false
	backwards := IsOlder(version, floor)
	owners := map[Owner]bool{}
	for key, entry := range t.objects {
		if key.GroupKind != of {
			continue
		}
		if backwards {
			entry.expected.ResourceVersion = ""
		}
		seen, ok := list[key]
		if !ok {
			seen = Seen{Gone: true, ResourceVersion: version, At: at}
		}
		_, drifted := entry.take(seen)
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
