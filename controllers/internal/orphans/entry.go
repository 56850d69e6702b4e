package orphans

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Name of the ledger.
const Name = "daytwo-orphans"

// Entry is what may remain of one target, or of a whole cluster.
type Entry struct {
	// Cluster is the TenantCluster, and ClusterID its identity.
	Cluster   types.NamespacedName
	ClusterID string
	// Holder is what the objects belonged to, as in "AddonRelease acme/cache-prod".
	Holder string
	// Objects that may remain, or whose resources may, by ID.
	Objects []Object
	// More objects of which only the number is known any more.
	More int
	// Why they were not removed.
	Why string
	// At is when they were given up, in whole seconds.
	At time.Time

	// at is the key that an entry was read from.
	at string
}

// Object is one object of an entry.
type Object struct {
	// ID as in an inventory: apiVersion/Kind/namespace/name.
	ID string `json:"id"`
	// UID tells the object from a later one of its name; empty if it is not known.
	UID types.UID `json:"uid,omitempty"`
	// Stays: no sweep removes it. It is kept on purpose, or is nothing in the cluster.
	Stays bool `json:"stays,omitempty"`
	// Why it could not be removed when that was tried.
	Why string `json:"why,omitempty"`
}

// Key of the entry in the ledger. It is the same for the same holder in the same cluster, so that telling twice
// makes one entry.
func (e Entry) Key() string {
	if e.at != "" {
		return e.at
	}
	sum := sha256.Sum256([]byte(e.Cluster.String() + "\n" + e.ClusterID + "\n" + e.Holder))
	name := e.Cluster.Name
	return name[:min(len(name), 200)] + "." + hex.EncodeToString(sum[:4])
}

// Count is how many objects the entry stands for.
func (e Entry) Count() int { return len(e.Objects) + e.More }

// String names the first few objects.
func (e Entry) String() string {
	const shown, bytes = 5, 512
	text := ""
	named := 0
	for _, object := range e.Objects[:min(len(e.Objects), shown)] {
		if named > 0 && len(text)+len(object.ID) > bytes {
			break
		}
		text += ", " + bounded(object.ID, bytes)
		named++
	}
	text = strings.TrimPrefix(text, ", ")
	if more := e.Count() - named; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// joined is the entry with the objects of the one that is stored already, whose time it keeps.
func (e Entry) joined(before Entry) Entry {
	total := max(e.Count(), before.Count())
	e.At = before.At
	e.Objects = slices.Clone(e.Objects)
	listed := make(map[string]bool, len(e.Objects))
	for _, object := range e.Objects {
		listed[object.ID] = true
	}
	for _, object := range before.Objects {
		if !listed[object.ID] {
			e.Objects = append(e.Objects, object)
		}
	}
	e.More = max(total-len(e.Objects), 0)
	return e
}

// byAge has the oldest first.
func byAge(a, b Entry) int {
	return cmp.Or(a.At.Compare(b.At), strings.Compare(a.Key(), b.Key()))
}

func byID(a, b Object) int {
	return cmp.Or(strings.Compare(a.ID, b.ID), strings.Compare(string(a.UID), string(b.UID)))
}
