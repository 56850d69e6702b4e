package target

import (
	"encoding/json"
	"fmt"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
)

// Sizes are in bytes of JSON, which is how an API server stores custom resources.
const (
	// MaxStored is how large a target may become. etcd takes requests of 1.5 MiB (--max-request-bytes); what is
	// left is for managedFields, which the manager's cache does not show.
	MaxStored = 1400 << 10
	// statusReserve is for what no declaration tells: six conditions of 2 KiB, ten corrections of eleven fields, and
	// the part of its kind.
	statusReserve = 128 << 10
	// entryReserve is for an entry of the inventory beside its ID and what it relinquishes.
	entryReserve = 200
	// maxRecorded is how many entries the inventory may have while one revision takes the place of another; the CRD
	// says the same.
	maxRecorded = 2 * apply.MaxInventory
)

// UnrecordableError is a target that must not be applied, since the status could not tell of it.
type UnrecordableError struct{ why string }

// Error implements error.
func (e *UnrecordableError) Error() string { return e.why }

// StallAsTooLarge says, in the status as it was recorded before, that the next one would make the target so many bytes
// large, which is not stored.
func (s Status) StallAsTooLarge(o Observation, kind string, size int) {
	s.ObservedGeneration = o.target.GetGeneration()
	s.Stall(o, metav1alpha1.ReasonStatusTooLarge, fmt.Sprintf("what became of it would make this %s %d KiB large, more than the %d KiB "+
		"that are stored of one, so the inventory is as it was before; split the policy", kind, size>>10, MaxStored>>10))
}

// CheckRecordable makes sure, before anything is applied, that the status can tell of all that is going to be in the
// cluster: of the inventory as it is, and of what is declared. Size is what the rest of an object of this kind takes, in
// bytes.
func (o Observation) CheckRecordable(kind string, size int) error {
	settings := o.DriftSettings()
	size += statusReserve
	count := 0
	known := make(map[objects.Key]bool, len(o.Desired))
	for _, d := range o.Desired {
		relinquished, err := mayYield(settings, d)
		if err != nil {
			return err
		}
		known[d.Key()] = true
		size += len(d.ID()) + entryReserve + SizeOf(relinquished)
		count++
	}
	for key, e := range o.Inventory {
		if !known[key] {
			size += len(e.ID()) + entryReserve + SizeOf(e.Relinquished)
			count++
		}
	}
	switch {
	case count > maxRecorded:
		return &UnrecordableError{fmt.Sprintf("%d objects are in the cluster or to be there at the same time, more than the %d that the inventory holds; "+
			"change the policy in several steps, or split it", count, maxRecorded)}
	case size > MaxStored:
		return &UnrecordableError{fmt.Sprintf("the status would make this %s %d KiB large, more than the %d KiB that are stored of one; "+
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
		return nil, &UnrecordableError{fmt.Sprintf("spec.drift.ignore names %d fields that %s declares, more than the %d of one object that are kept track of; "+
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
