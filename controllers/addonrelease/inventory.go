package addonrelease

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

// maxInventory is how many objects a release may have; the CRD says the same.
const maxInventory = 2000

// entry is one object that is, or may be, in the cluster because of a release.
type entry struct {
	objects.Ref
	uid         types.UID
	hash        string
	fingerprint string
	adopted     bool
	kept        bool
	external    bool
	// environment: a pod template takes every key of the object as an environment variable.
	environment bool
	yielded     []string
}

// intended: the entry was written before the object was, and nothing is known of the object yet.
func (e entry) intended() bool { return e.uid == "" }

// unwatched: the object was there before and only has to be there, as a namespace that others made.
func (e entry) unwatched() bool { return e.uid != "" && e.fingerprint == "" }

// inventory is by object, whatever API version it was written in.
type inventory map[objects.Key]entry

func readInventory(stored []addonsv1alpha1.InventoryEntry) (inventory, error) {
	found := make(inventory, len(stored))
	for _, one := range stored {
		ref, err := objects.ParseID(one.ID)
		if err != nil {
			return nil, fmt.Errorf("status.inventory: %w", err)
		}
		found[ref.Key()] = entry{
			Ref: ref, uid: types.UID(one.UID), hash: one.Hash, fingerprint: one.Fingerprint,
			adopted: one.Adopted, kept: one.Kept, external: one.External, environment: one.Environment, yielded: one.Yielded,
		}
	}
	return found, nil
}

// stored is the form for the status, in a stable order.
func (i inventory) stored() []addonsv1alpha1.InventoryEntry {
	list := make([]addonsv1alpha1.InventoryEntry, 0, len(i))
	for _, e := range i.sorted() {
		list = append(list, addonsv1alpha1.InventoryEntry{
			ID: e.ID(), UID: string(e.uid), Hash: e.hash, Fingerprint: e.fingerprint,
			Adopted: e.adopted, Kept: e.kept, External: e.external, Environment: e.environment, Yielded: e.yielded[:min(len(e.yielded), maxYielded+1)],
		})
	}
	return list
}

// scopeOf says whether the objects of a kind are namespaced; not known if there is none.
func (i inventory) scopeOf(kind schema.GroupKind) (namespaced, known bool) {
	for key := range i {
		if key.GroupKind == kind {
			return key.Namespace != "", true
		}
	}
	return false, false
}

func (i inventory) sorted() []entry {
	list := make([]entry, 0, len(i))
	for _, e := range i {
		list = append(list, e)
	}
	slices.SortFunc(list, func(a, b entry) int { return strings.Compare(a.ID(), b.ID()) })
	return list
}

// take takes in what came of a plan.
func (i inventory) take(done objectsResult) {
	for _, w := range done.written {
		if w.result != nil {
			i[w.Key()] = entry{
				Ref: w.Ref, uid: w.result.UID, hash: w.hash, fingerprint: w.fingerprint,
				adopted: w.adopted || w.entry.adopted, kept: w.kept, external: w.external, environment: w.environment, yielded: w.yielded,
			}
		}
	}
	for _, w := range done.written {
		// A namespace of others is not watched. One that is gone is to be made again, if the source says so.
		key := objects.Key{GroupKind: objects.NamespaceKind, Name: w.Namespace}
		if namespace := i[key]; missesNamespace(w) && namespace.unwatched() {
			i[key] = entry{Ref: namespace.Ref, kept: namespace.kept, external: namespace.external}
		}
	}
	for _, e := range done.gone {
		delete(i, e.Key())
	}
	for _, e := range done.left {
		delete(i, e.Key())
	}
}

// names lists the first few objects for people.
func names[T fmt.Stringer](list []T) string {
	const most = 3
	text := make([]string, 0, most)
	for _, one := range list[:min(most, len(list))] {
		text = append(text, one.String())
	}
	if more := len(list) - most; more > 0 {
		text = append(text, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(text, ", ")
}
