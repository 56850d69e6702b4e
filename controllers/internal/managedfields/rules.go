package managedfields

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// edition changes whenever the places do, or the order of the rules.
const edition = 2

// Rules decide which fields of an object others may set. Immutable, so safe for concurrent use.
type Rules struct {
	Controllers
	tools   tools
	catalog Catalog
	digest  string
}

// NewRules makes them of the controllers that may set anything, the field managers that are people's tools
// (a trailing * stands for any ending), and the catalog of exceptions.
func NewRules(controllers Controllers, toolManagers []string, catalog Catalog) Rules {
	known, names := controllers.known.UnsortedList(), slices.Clone(toolManagers)
	slices.Sort(known)
	slices.Sort(names)
	return Rules{
		Controllers: controllers, tools: tools(names), catalog: catalog, digest: digestOf(edition, known, names, catalog),
	}
}

// DefaultRules are those of an installation without flags.
func DefaultRules(installation string) Rules {
	return NewRules(NewControllers(ManagerOf(installation), DefaultControllers()...), DefaultTools(), DefaultCatalog())
}

// Version tells one set of rules from another: 16 hex digits over what they are made of, and over the
// settings of one policy.
func (r Rules) Version(settings any) string { return digestOf(r.digest, settings)[:16] }

func digestOf(parts ...any) string {
	encoded, err := json.Marshal(parts)
	if err != nil {
		panic(fmt.Sprintf("what rules are made of is always JSON: %v", err))
	}
	digest := sha256.Sum256(encoded)
	return hex.EncodeToString(digest[:])
}

// Subject is one object that the rules decide about.
type Subject struct {
	Kind schema.GroupKind
	Tolerance
	// Declared is the object as it should be. Without it, what our own entry owns stands for it.
	Declared map[string]any

	own *fieldpath.Set
}

// declares says whether the manifest has a field, or an item of a list.
func (s Subject) declares(path fieldpath.Path) bool {
	return s.own.Has(path) || s.Declared != nil && declares(s.Declared, path)
}

// declaresBelow says whether the manifest has a field of a JSON pointer, or anything below it.
func (s Subject) declaresBelow(pointer string) bool {
	if s.Declared != nil && declaresPointer(s.Declared, Tokens(pointer)) {
		return true
	}
	return OwnsPointer(s.own, pointer)
}

// matches says whether a pattern names a field, or something above it. An item of a list on the way to what
// is named must be declared: to leave single fields of an added item would leave the item.
func (s Subject) matches(path fieldpath.Path, pattern []string) bool {
	if !below(path, pattern) {
		return false
	}
	return s.itemsDeclared(path[:len(pattern)-1])
}

func (s Subject) itemsDeclared(path fieldpath.Path) bool {
	for i := range path {
		if path[i].FieldName == nil && !s.declares(path[:i+1]) {
			return false
		}
	}
	return true
}

// tolerates says whether a field that an entry owns may stay. The order of the rules is the policy.
func (r Rules) tolerates(s Subject, entry *metav1.ManagedFieldsEntry, path fieldpath.Path) bool {
	if r.catalog.excepts(s, entry, path) || reloads(s, entry, path) {
		return true
	}
	for _, pointer := range s.Ignored {
		if s.matches(path, Tokens(pointer)) {
			return true
		}
	}
	if s.declares(path) || s.Additions == RevertAll {
		return false
	}
	if s.Additions == RevertNone {
		return true
	}
	switch placeOf(s, path) {
	case open:
		return true
	case harmless:
		return !r.isTool(entry)
	}
	return false
}

// split parts the fields of an entry: those that may stay, and the rest. A field that holds others stays if
// any of them does.
func (r Rules) split(s Subject, entry *metav1.ManagedFieldsEntry, fields *fieldpath.Set) (kept, rest *fieldpath.Set) {
	kept = fieldpath.NewSet()
	fields.Leaves().Iterate(func(path fieldpath.Path) {
		if !r.tolerates(s, entry, path) {
			return
		}
		path = path.Copy()
		for i := 1; i <= len(path); i++ {
			if fields.Has(path[:i]) {
				kept.Insert(path[:i])
			}
		}
	})
	if kept.Empty() {
		return kept, fields
	}
	return kept, fields.Difference(kept)
}
