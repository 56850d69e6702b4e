package addonrelease

import (
	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	helmrecord "github.com/daytwo-dev/daytwo/controllers/internal/helm"
	"github.com/daytwo-dev/daytwo/controllers/internal/targets"
)

// TargetKind is the kind AddonRelease, for the registry of target kinds.
func TargetKind() *targets.Kind {
	return targets.Pair[*addonsv1alpha1.AddonRelease]{
		Target: &addonsv1alpha1.AddonRelease{}, Targets: &addonsv1alpha1.AddonReleaseList{},
		Policy: &addonsv1alpha1.SaaSAddon{}, Policies: &addonsv1alpha1.SaaSAddonList{},
	}.Kind(addonsv1alpha1.GroupVersion, holdingsOf)
}

// holdingsOf is what a release has in its cluster, or is about to have.
func holdingsOf(release *addonsv1alpha1.AddonRelease) targets.Holdings {
	holdings := targets.Holdings{Objects: release.Status.Inventory}
	if used := release.Status.Helm; used != nil {
		holdings.HelmRelease, holdings.HelmRecord = &helmrecord.Release{Namespace: used.Namespace, Name: used.Name}, used.Record
	}
	return holdings
}
