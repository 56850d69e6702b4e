package managedfields

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// maxTolerated is how many field managers are named for one object.
const maxTolerated = 10

// Assessment is what the rules say of an object as it is.
type Assessment struct {
	// Fingerprint says who owns what of the object that they may not: 16 hex digits over its uid, its
	// deletion, our entry, and the fields of foreign entries that are not tolerated. It stays the same
	// under status churn and whatever is tolerated, and changes with every other edit, because every
	// edit leaves an entry or shrinks ours. One thing is invisible to it: an apply under Daytwo's own name,
	// of the same fields, in the same second as Daytwo's last.
	Fingerprint string
	// Untouched is the Fingerprint that the object has when there is nothing of others that they may not.
	// It depends on no rule.
	Untouched string
	// Tolerated are the field managers that own something that may stay, sorted, at most ten.
	Tolerated []string
}

// Assess compares the entries of an object with the rules.
func (r Rules) Assess(object metav1.Object, s Subject) Assessment {
	entries := object.GetManagedFields()
	changes, tolerated := r.assess(entries, s)
	slices.Sort(tolerated)
	tolerated = slices.Compact(tolerated)
	is := Assessment{
		Untouched: r.digest64(object, nil),
		Tolerated: slices.Clip(tolerated[:min(len(tolerated), maxTolerated)]),
	}
	if is.Fingerprint = is.Untouched; len(changes) > 0 {
		is.Fingerprint = r.digest64(object, changes)
	}
	return is
}

// digest64 sums up our entry and what others own and may not, sorted: the API server may list entries in
// another order.
func (r Rules) digest64(object metav1.Object, changes []Change) string {
	digest := sha256.New()
	fmt.Fprintf(digest, "%s\n%t\n", object.GetUID(), object.GetDeletionTimestamp() != nil)
	changes = slices.Clone(changes)
	if entries := object.GetManagedFields(); r.Ours(entries) >= 0 {
		changes = append(changes, Change{ManagedFieldsEntry: entries[r.Ours(entries)], whole: true})
	}
	slices.SortStableFunc(changes, func(a, b Change) int {
		return strings.Compare(a.Manager+"\n"+string(a.Operation)+"\n"+a.APIVersion, b.Manager+"\n"+string(b.Operation)+"\n"+b.APIVersion)
	})
	for i := range changes {
		writeChange(digest, &changes[i])
	}
	return hex.EncodeToString(digest.Sum(nil)[:8])
}

// writeChange leaves out the time of an entry that is tolerated in part: it may be of the part that is.
func writeChange(digest hash.Hash, change *Change) {
	var at string
	if change.Time != nil && change.whole {
		at = change.Time.UTC().Format(time.RFC3339)
	}
	fmt.Fprintf(digest, "%s\n%s\n%s\n%s\n", change.Manager, change.Operation, change.APIVersion, at)
	switch {
	case !change.whole:
		if raw, err := change.Fields.ToJSON(); err == nil {
			digest.Write(raw)
		}
	case change.FieldsV1 != nil:
		digest.Write(canonicalJSON(change.FieldsV1.GetRawBytes()))
	}
}

// canonicalJSON sorts keys: what comes as protobuf, and what went through a map, must hash alike.
func canonicalJSON(raw []byte) []byte {
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		return raw
	}
	canonical, err := json.Marshal(value)
	if err != nil {
		return raw
	}
	return canonical
}
