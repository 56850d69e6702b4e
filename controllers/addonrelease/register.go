package addonrelease

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	helmrecord "github.com/daytwo-dev/daytwo/controllers/internal/helm"
	"github.com/daytwo-dev/daytwo/controllers/internal/targets"
)

// TargetKind is the kind AddonRelease, for the registry of target kinds.
func TargetKind() *targets.Kind {
	return &targets.Kind{
		GroupVersionKind: addonsv1alpha1.GroupVersion.WithKind(ownerKind),
		New:              func() client.Object { return &addonsv1alpha1.AddonRelease{} },
		NewList:          func() client.ObjectList { return &addonsv1alpha1.AddonReleaseList{} },
		Policy: &targets.PolicyKind{
			GroupVersionKind: addonsv1alpha1.GroupVersion.WithKind("SaaSAddon"),
			New:              func() metav1alpha1.Policy { return &addonsv1alpha1.SaaSAddon{} },
			NewList:          func() client.ObjectList { return &addonsv1alpha1.SaaSAddonList{} },
		},
		View: func(object client.Object) targets.View {
			release := object.(*addonsv1alpha1.AddonRelease)
			return targets.ViewOf(release, holdingsOf(release))
		},
	}
}

// holdingsOf is what a release has in its cluster, or is about to have.
func holdingsOf(release *addonsv1alpha1.AddonRelease) targets.Holdings {
	holdings := targets.Holdings{Objects: release.Status.Inventory}
	if used := release.Status.Helm; used != nil {
		holdings.HelmRelease, holdings.HelmRecord = &helmrecord.Release{Namespace: used.Namespace, Name: used.Name}, used.Record
	}
	return holdings
}
