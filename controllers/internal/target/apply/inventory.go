package apply

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/truncate"
)

// MaxInventory is how many objects a release may have; the CRD says the same.
const MaxInventory = 2000

// MaxRelinquished is how many fields of one object others may keep, beside an autoscaler's replicas; the CRD says the same.
const MaxRelinquished = 32

// Entry is one object that is, or may be, in the cluster because of a release.
type Entry struct {
	objects.Ref
	UID         types.UID
	Hash        string
	Fingerprint string
	Adopted     bool
	Kept        bool
	External    bool
	// Environment: a pod template takes every key of the object as an environment variable.
	Environment  bool
	Relinquished []string
}

// Intended tells that the entry was written before the object was, and nothing is known of the object yet.
func (e Entry) Intended() bool { return e.UID == "" }

// Unwatched tells that the object was there before and only has to be there, as a namespace that others made.
func (e Entry) Unwatched() bool { return e.UID != "" && e.Fingerprint == "" }

// Inventory is by object, whatever API version it was written in.
type Inventory map[objects.Key]Entry

// ReadInventory reads what Stored returned, from the status of a target.
func ReadInventory(stored []metav1alpha1.InventoryEntry) (Inventory, error) {
	found := make(Inventory, len(stored))
	for _, one := range stored {
		ref, err := objects.ParseID(one.ID)
		if err != nil {
			return nil, fmt.Errorf("status.inventory: %w", err)
		}
		found[ref.Key()] = Entry{
			Ref: ref, UID: types.UID(one.UID), Hash: one.Hash, Fingerprint: one.Fingerprint,
			Adopted: one.Adopted, Kept: one.Kept, External: one.External, Environment: one.Environment, Relinquished: one.Relinquished,
		}
	}
	return found, nil
}

// Stored is the form for the status, in a stable order.
func (i Inventory) Stored() []metav1alpha1.InventoryEntry {
	list := make([]metav1alpha1.InventoryEntry, 0, len(i))
	for _, e := range i.Sorted() {
		list = append(list, metav1alpha1.InventoryEntry{
			ID: e.ID(), UID: string(e.UID), Hash: e.Hash, Fingerprint: e.Fingerprint,
			Adopted: e.Adopted, Kept: e.Kept, External: e.External, Environment: e.Environment, Relinquished: e.Relinquished[:min(len(e.Relinquished), MaxRelinquished+1)],
		})
	}
	return list
}

// scopeOf says whether the objects of a kind are namespaced; not known if there is none.
func (i Inventory) scopeOf(kind schema.GroupKind) (namespaced, known bool) {
	for key := range i {
		if key.GroupKind == kind {
			return key.Namespace != "", true
		}
	}
	return false, false
}

// Sorted returns the entries in a stable order, by ID.
func (i Inventory) Sorted() []Entry {
	list := make([]Entry, 0, len(i))
	for _, e := range i {
		list = append(list, e)
	}
	slices.SortFunc(list, func(a, b Entry) int { return strings.Compare(a.ID(), b.ID()) })
	return list
}

// Take takes in what came of a plan.
func (i Inventory) Take(done Result) {
	for _, w := range done.Written {
		if w.Result != nil {
			i[w.Key()] = Entry{
				Ref: w.Ref, UID: w.Result.UID, Hash: w.Hash, Fingerprint: w.Fingerprint,
				Adopted: w.adopted || w.Entry.Adopted, Kept: w.kept, External: w.external, Environment: w.Environment, Relinquished: w.relinquished,
			}
		}
	}
	for _, w := range done.Written {
		// A namespace of others is not watched. One that is gone is to be made again, if the source says so.
		key := objects.Key{GroupKind: objects.NamespaceKind, Name: w.Namespace}
		if namespace := i[key]; missesNamespace(w) && namespace.Unwatched() {
			i[key] = Entry{Ref: namespace.Ref, Kept: namespace.Kept, External: namespace.External}
		}
	}
	for _, e := range done.Gone {
		delete(i, e.Key())
	}
	for _, e := range done.Left {
		delete(i, e.Key())
	}
}

// Names lists the first few objects for people.
func Names[T fmt.Stringer](list []T) string {
	const most = 3
	text := make([]string, 0, most)
	for _, one := range list[:min(most, len(list))] {
		text = append(text, one.String())
	}
	return truncate.First(text, ", ", len(list))
}
