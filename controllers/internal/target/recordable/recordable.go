// Package recordable tells whether the status of a target has room for what is to be in its cluster.
package recordable

import (
	"encoding/json"
	"fmt"

	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
)

// Sizes are in bytes of JSON, which is how an API server stores custom resources.
const (
	// MaxStored is how large a target may become. etcd takes requests of 1.5 MiB (--max-request-bytes); what is
	// left is for managedFields, which the manager's cache does not show.
	MaxStored = 1400 << 10
	// statusReserve is for what no declaration tells: six conditions of 2 KiB, ten corrections of eleven fields, the
	// objects that were removed last, and the part of its kind.
	statusReserve = 160 << 10
	// entryReserve is for an entry of the inventory beside its ID and what it relinquishes.
	entryReserve = 200
	// maxRecorded is how many entries the inventory may have while one revision takes the place of another; the CRD
	// says the same.
	maxRecorded = 2 * apply.MaxInventory
)

// Error says why a target must not be applied: its status could not tell of it.
type Error struct{ why string }

// Error implements error.
func (e *Error) Error() string { return e.why }

// Check makes sure, before anything is applied, that the status can tell of all that is going to be in the cluster: of the
// inventory as it is, and of what is declared. Size is what the rest of an object of this kind takes, in bytes. An error is
// an [Error], or says that a declared object cannot be read.
func Check(kind string, size int, settings apply.Settings, desired []apply.Object, inventory apply.Inventory) error {
	if len(desired) > apply.MaxInventory {
		return &Error{fmt.Sprintf("%d objects are declared, more than the %d that one target may have; split it", len(desired), apply.MaxInventory)}
	}
	size += statusReserve
	count := 0
	known := make(map[objects.Key]bool, len(desired))
	for _, d := range desired {
		relinquished, err := mayYield(settings, d)
		if err != nil {
			return err
		}
		known[d.Key()] = true
		size += len(d.ID()) + entryReserve + SizeOf(relinquished)
		count++
	}
	for key, e := range inventory {
		if !known[key] {
			size += len(e.ID()) + entryReserve + SizeOf(e.Relinquished)
			count++
		}
	}
	switch {
	case count > maxRecorded:
		return &Error{fmt.Sprintf("%d objects are in the cluster or to be there at the same time, more than the %d that the inventory holds; "+
			"change the policy in several steps, or split it", count, maxRecorded)}
	case size > MaxStored:
		return &Error{fmt.Sprintf("the status would make this %s %d KiB large, more than the %d KiB that are stored of one; "+
			"split the policy, or list less in spec.drift.ignore", kind, size>>10, MaxStored>>10)}
	}
	return nil
}

// mayYield are the declared fields of an object that others may come to keep.
func mayYield(settings apply.Settings, d apply.Object) ([]string, error) {
	spared := settings.IgnoredOf(d.Ref)
	if len(spared) == 0 {
		return nil, nil
	}
	var object map[string]any
	if err := json.Unmarshal(d.Body, &object); err != nil {
		return nil, fmt.Errorf("read %s: %w", d.Ref, err)
	}
	if spared = apply.DeclaredAmong(object, spared); len(spared) > apply.MaxRelinquished {
		return nil, &Error{fmt.Sprintf("spec.drift.ignore names %d fields that %s declares, more than the %d of one object that are kept track of; "+
			"name the field above them, or leave them out of the manifest", len(spared), d.Ref, apply.MaxRelinquished)}
	}
	return spared, nil
}

// SizeOf is how many bytes of JSON a value of an API type takes.
func SizeOf(value any) int {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // Types of the API always marshal.
	}
	return len(text)
}
