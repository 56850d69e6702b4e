package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

const (
	// patience with what should have happened long before.
	patience  = time.Minute
	lookEvery = 20 * time.Millisecond
)

// sight is what a look at something showed.
type sight struct {
	happened bool
	// seen is told if it never happens.
	seen string
}

// await looks until it has happened. A look that fails is a look that showed an error.
func await(ctx context.Context, look func(context.Context) (sight, error)) error {
	var latest sight
	err := wait.PollUntilContextTimeout(ctx, lookEvery, patience, true, func(ctx context.Context) (bool, error) {
		now, err := look(ctx)
		switch {
		case err == nil:
			latest = now
		case ctx.Err() == nil:
			latest = sight{seen: err.Error()}
		}
		return latest.happened, nil
	})
	if err == nil || errors.Is(ctx.Err(), context.Canceled) {
		return err
	}
	return fmt.Errorf("it did not happen in time; seen instead: %s", latest.seen)
}

// describe tells a condition as a person would read it out.
func describe(conditions []metav1.Condition, kind string) string {
	condition := meta.FindStatusCondition(conditions, kind)
	if condition == nil {
		return "no condition " + kind + " yet"
	}
	return fmt.Sprintf("%s=%s, %s: %s", condition.Type, condition.Status, condition.Reason, condition.Message)
}

// release finds an add-on in a customer's cluster; nil if it is not there.
func (s *story) release(ctx context.Context, addon string, c customer) (*addonsv1alpha1.AddonRelease, error) {
	releases := &addonsv1alpha1.AddonReleaseList{}
	err := s.env.Admin.List(ctx, releases, client.InNamespace(providerNamespace), client.MatchingLabels{
		metav1alpha1.LabelPolicy: addon, metav1alpha1.LabelClusterNamespace: c.namespace(), metav1alpha1.LabelCluster: tenantCluster,
	})
	if err != nil || len(releases.Items) == 0 {
		return nil, err
	}
	return &releases.Items[0], nil
}

// awaitRelease waits for something about an add-on in a customer's cluster.
func (s *story) awaitRelease(
	ctx context.Context, addon string, c customer, happened func(*addonsv1alpha1.AddonRelease) bool,
) (*addonsv1alpha1.AddonRelease, error) {
	var release *addonsv1alpha1.AddonRelease
	err := await(ctx, func(ctx context.Context) (sight, error) {
		var err error
		if release, err = s.release(ctx, addon, c); err != nil || release == nil {
			return sight{seen: "no AddonRelease of " + addon + " for " + c.namespace() + "/" + tenantCluster}, err
		}
		seen := fmt.Sprintf("AddonRelease %s: %s", release.Name, describe(release.Status.Conditions, metav1alpha1.ConditionReady))
		return sight{happened: happened(release), seen: seen}, nil
	})
	return release, err
}

// awaitReady waits until an add-on is ready in these customers' clusters, at the revision that the
// SaaSAddon's spec makes.
func (s *story) awaitReady(ctx context.Context, addon string, customers ...customer) error {
	revision, err := s.awaitRevision(ctx, addon)
	if err != nil {
		return err
	}
	for _, c := range customers {
		if _, err := s.awaitRelease(ctx, addon, c, func(release *addonsv1alpha1.AddonRelease) bool {
			return release.Status.Revision == revision && release.Status.ObservedGeneration == release.Generation &&
				meta.IsStatusConditionTrue(release.Status.Conditions, metav1alpha1.ConditionReady)
		}); err != nil {
			return err
		}
	}
	return nil
}

// awaitRevision waits for the revision of a SaaSAddon as it is now. What is made of a chart is only
// known once that was fetched; until then the status names the revision before.
func (s *story) awaitRevision(ctx context.Context, name string) (string, error) {
	addon := &addonsv1alpha1.SaaSAddon{}
	err := await(ctx, func(ctx context.Context) (sight, error) {
		err := s.env.Admin.Get(ctx, addonKey(name), addon)
		return sight{
			happened: addon.Status.ObservedGeneration == addon.Generation && addon.Status.Revision != "" && isResolved(addon),
			seen:     "SaaSAddon " + name + ": " + describe(addon.Status.Conditions, metav1alpha1.ConditionReady),
		}, err
	})
	return addon.Status.Revision, err
}

// isResolved tells whether the status speaks of the chart that the spec names.
func isResolved(addon *addonsv1alpha1.SaaSAddon) bool {
	chart := addon.Spec.Source.Chart
	return chart == nil || addon.Status.Chart != nil && addon.Status.Chart.Requested == chart.Version
}
