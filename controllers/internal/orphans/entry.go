package orphans

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

const (
	// Name of the ledger.
	Name = "daytwo-orphans"
	// maxEntries, maxObjects in each, and maxBytes keep the ledger below the 1 MiB that a ConfigMap may have.
	maxEntries = 200
	maxObjects = 20
	maxBytes   = 700 << 10
	// droppedKey counts entries that had to go.
	droppedKey = "dropped"
)

// Entry is what may remain of one target, or of a whole cluster.
type Entry struct {
	// Cluster is the TenantCluster, and ClusterID its identity.
	Cluster   types.NamespacedName
	ClusterID string
	// Holder is what the objects belonged to, as in "AddonRelease acme/cache-prod".
	Holder string
	// Objects whose resources may remain.
	Objects []string
	// Why they were not removed.
	Why string
	// At is when they were given up.
	At time.Time
}

// record is an entry as it is stored.
type record struct {
	Cluster   string    `json:"cluster"`
	ClusterID string    `json:"clusterID,omitempty"`
	Holder    string    `json:"holder"`
	Objects   []string  `json:"objects"`
	More      int       `json:"more,omitempty"`
	Why       string    `json:"why"`
	At        time.Time `json:"at"`
}

// key is the same for the same holder in the same cluster, so that telling twice makes one entry.
func (e Entry) key() string {
	sum := sha256.Sum256([]byte(e.Cluster.String() + "\n" + e.ClusterID + "\n" + e.Holder))
	name := e.Cluster.Name
	return name[:min(len(name), 200)] + "." + hex.EncodeToString(sum[:4])
}

func (e Entry) stored() (string, error) {
	objects := slices.Clone(e.Objects)
	slices.Sort(objects)
	kept := objects[:min(len(objects), maxObjects)]
	content, err := json.Marshal(record{
		Cluster: e.Cluster.String(), ClusterID: e.ClusterID, Holder: e.Holder,
		Objects: kept, More: len(objects) - len(kept), Why: e.Why, At: e.At.UTC().Truncate(time.Second),
	})
	return string(content), err
}

// joined is the entry with the objects of the one that is stored already, whose time it keeps.
func (e Entry) joined(content string) Entry {
	var before record
	if json.Unmarshal([]byte(content), &before) != nil {
		return e
	}
	e.At = before.At
	for _, object := range before.Objects {
		if !slices.Contains(e.Objects, object) {
			e.Objects = append(slices.Clip(e.Objects), object)
		}
	}
	return e
}

// String names the first few objects.
func (e Entry) String() string {
	const shown = 5
	text := strings.Join(e.Objects[:min(len(e.Objects), shown)], ", ")
	if more := len(e.Objects) - shown; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// add returns the ledger with an entry more, within bounds.
func add(ledger map[string]string, entry Entry) (map[string]string, error) {
	content, err := entry.joined(ledger[entry.key()]).stored()
	if err != nil {
		return nil, err
	}
	grown := make(map[string]string, len(ledger)+1)
	for key, value := range ledger {
		grown[key] = value
	}
	grown[entry.key()] = content
	return bounded(grown), nil
}

// bounded drops the oldest entries beyond the bounds, and counts them.
func bounded(ledger map[string]string) map[string]string {
	size, entries := 0, make([]dated, 0, len(ledger))
	for key, content := range ledger {
		if key != droppedKey {
			size += len(key) + len(content)
			entries = append(entries, dated{key, madeAt(content)})
		}
	}
	slices.SortFunc(entries, func(a, b dated) int {
		return cmp.Or(a.at.Compare(b.at), strings.Compare(a.key, b.key))
	})
	dropped := 0
	for ; len(entries)-dropped > maxEntries || size > maxBytes; dropped++ {
		key := entries[dropped].key
		size -= len(key) + len(ledger[key])
		delete(ledger, key)
	}
	if dropped > 0 {
		before, err := strconv.Atoi(ledger[droppedKey])
		if err != nil {
			before = 0 // None yet, or somebody wrote something else.
		}
		ledger[droppedKey] = strconv.Itoa(before + dropped)
	}
	return ledger
}

// dated is an entry's key and when the entry was made.
type dated struct {
	key string
	at  time.Time
}

// madeAt is zero for what people wrote themselves, which goes first.
func madeAt(content string) time.Time {
	var stored record
	if json.Unmarshal([]byte(content), &stored) != nil {
		return time.Time{}
	}
	return stored.At
}
