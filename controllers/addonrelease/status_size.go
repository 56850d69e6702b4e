package addonrelease

import (
	"encoding/json"
	"fmt"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
)

// Sizes are in bytes of JSON, which is how an API server stores custom resources.
const (
	// maxStored is how large an AddonRelease may become. etcd takes requests of 1.5 MiB (--max-request-bytes); what is
	// left is for managedFields, which the manager's cache does not show.
	maxStored = 1400 << 10
	// statusReserve is for what no declaration tells: six conditions of 1 KiB, ten corrections of eleven fields, and
	// the part of Helm.
	statusReserve = 128 << 10
	// entryReserve is for an entry of the inventory beside its ID and what it yields.
	entryReserve = 200
	// hookReserve is for a run of a hook beside its object's ID.
	hookReserve = 320
	// maxRecorded is how many entries the inventory may have while one revision takes the place of another; the CRD
	// says the same.
	maxRecorded = 2 * apply.MaxInventory
)

// unrecordableError is a release that must not be applied, since the status could not tell of it.
type unrecordableError struct{ why string }

func (e *unrecordableError) Error() string { return e.why }

// checkRecordable makes sure, before anything is applied, that the status can tell of all that is going to be in the
// cluster: of the inventory as it is, and of what is declared.
func checkRecordable(o observation) error {
	settings := o.DriftSettings()
	size, count := sizeOfSpec(o.release)+statusReserve, 0
	known := make(map[objects.Key]bool, len(o.Desired))
	for _, d := range o.Desired {
		yielded, err := mayYield(settings, d)
		if err != nil {
			return err
		}
		known[d.Key()] = true
		size += len(d.ID()) + entryReserve + sizeOf(yielded)
		count++
	}
	for key, e := range o.Inventory {
		if !known[key] {
			size += len(e.ID()) + entryReserve + sizeOf(e.Yielded)
			count++
		}
	}
	if o.helm.Chart != nil {
		for _, hook := range o.helm.Chart.Hooks {
			size += len(hook.Events) * (len(hook.ID()) + hookReserve)
		}
	}
	switch {
	case count > maxRecorded:
		return &unrecordableError{fmt.Sprintf("%d objects are in the cluster or to be there at the same time, more than the %d that the inventory holds; "+
			"change the add-on in several steps, or split it", count, maxRecorded)}
	case size > maxStored:
		return &unrecordableError{fmt.Sprintf("the status would make this AddonRelease %d KiB large, more than the %d KiB that are stored of one; "+
			"split the add-on, or list less in spec.drift.ignore", size>>10, maxStored>>10)}
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
	if spared = apply.DeclaredAmong(object, spared); len(spared) > apply.MaxYielded {
		return nil, &unrecordableError{fmt.Sprintf("spec.drift.ignore names %d fields that %s declares, more than the %d of one object that are kept track of; "+
			"name the field above them, or leave them out of the manifest", len(spared), d.Ref, apply.MaxYielded)}
	}
	return spared, nil
}

func sizeOfSpec(release *addonsv1alpha1.AddonRelease) int {
	without := *release
	without.Status = addonsv1alpha1.AddonReleaseStatus{}
	return sizeOf(without)
}

func sizeOf(value any) int {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // Types of the API always marshal.
	}
	return len(text)
}

// fitting is a status that can be stored. One that cannot, because a cluster answered with something that is not of
// this world, leaves the one before in place, and says so.
func fitting(next addonsv1alpha1.AddonReleaseStatus, o observation, recorded addonsv1alpha1.AddonReleaseStatus) addonsv1alpha1.AddonReleaseStatus {
	size := sizeOfSpec(o.release) + sizeOf(next)
	if size <= maxStored {
		return next
	}
	before := *recorded.DeepCopy()
	before.ObservedGeneration = o.release.Generation
	statusOf(&before).Stall(o.Observation, metav1alpha1.ReasonStatusTooLarge, fmt.Sprintf("what became of it would make this AddonRelease %d KiB large, more than the %d KiB "+
		"that are stored of one, so the inventory is as it was before; split the add-on", size>>10, maxStored>>10))
	return before
}
