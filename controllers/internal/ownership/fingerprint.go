package ownership

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

// Fingerprint says who owns what of an object: 16 hex digits over its uid, its deletion and the
// managedFields entries without a subresource, less those of known controllers. It stays the same
// under status churn, and changes with every edit, because every edit leaves an entry or shrinks
// ours. One thing is invisible to it: an apply under Daytwo's own name, of the same fields, in the
// same second as Daytwo's last.
func (c Controllers) Fingerprint(object metav1.Object) string {
	digest := sha256.New()
	fmt.Fprintf(digest, "%s\n%t\n", object.GetUID(), object.GetDeletionTimestamp() != nil)

	entries := slices.Clone(object.GetManagedFields())
	slices.SortStableFunc(entries, func(a, b metav1.ManagedFieldsEntry) int {
		return strings.Compare(a.Manager+"\n"+string(a.Operation)+"\n"+a.APIVersion, b.Manager+"\n"+string(b.Operation)+"\n"+b.APIVersion)
	})
	for i := range entries {
		if c.IsOurs(&entries[i]) || c.isForeign(&entries[i]) {
			writeEntry(digest, &entries[i])
		}
	}
	return hex.EncodeToString(digest.Sum(nil)[:8])
}

func writeEntry(digest hash.Hash, entry *metav1.ManagedFieldsEntry) {
	var at string
	if entry.Time != nil {
		at = entry.Time.UTC().Format(time.RFC3339)
	}
	fmt.Fprintf(digest, "%s\n%s\n%s\n%s\n", entry.Manager, entry.Operation, entry.APIVersion, at)
	if entry.FieldsV1 != nil {
		digest.Write(canonicalJSON(entry.FieldsV1.GetRawBytes()))
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
