package addonrelease

import (
	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/addonrelease/helm"
	"github.com/daytwo-dev/daytwo/controllers/internal/target"
)

// hookReserve is for a run of a hook beside its object's ID, in bytes of JSON.
const hookReserve = 320

// checkRecordable makes sure, before anything is applied, that the status can tell of all that is going to be in the
// cluster.
func checkRecordable(o observation) error {
	return o.CheckRecordable(ownerKind, sizeOfSpec(o.release)+sizeOfHooks(o.helm.Chart))
}

// sizeOfHooks is what the status may tell of the hooks of a chart, which may be nil.
func sizeOfHooks(chart *helm.Chart) int {
	if chart == nil {
		return 0
	}
	size := 0
	for _, hook := range chart.Hooks {
		size += len(hook.Events) * (len(hook.ID()) + hookReserve)
	}
	return size
}

func sizeOfSpec(release *addonsv1alpha1.AddonRelease) int {
	without := *release
	without.Status = addonsv1alpha1.AddonReleaseStatus{}
	return target.SizeOf(without)
}

// fitting is a status that can be stored. One that cannot, because a cluster answered with something that is not of
// this world, leaves the one before in place, and says so.
func fitting(next addonsv1alpha1.AddonReleaseStatus, o observation, recorded addonsv1alpha1.AddonReleaseStatus) addonsv1alpha1.AddonReleaseStatus {
	size := sizeOfSpec(o.release) + target.SizeOf(next)
	if size <= target.MaxStored {
		return next
	}
	before := *recorded.DeepCopy()
	statusOf(&before).StallAsTooLarge(o.Observation, "AddonRelease", size, "; split the add-on")
	return before
}
