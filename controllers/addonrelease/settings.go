package addonrelease

import (
	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/managedfields"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
)

// settingsOf reads the settings of a policy.
func settingsOf(policy addonsv1alpha1.DriftPolicy) apply.Settings {
	settings := apply.Settings{Mode: apply.Mode(policy.Mode), Additions: additionsOf(policy)}
	if settings.Mode == "" {
		settings.Mode = apply.Correct
	}
	for _, ignore := range policy.Ignore {
		target := ignore.Target
		settings.Ignored = append(settings.Ignored, apply.IgnoredFields{
			Group: target.Group, Kind: target.Kind, Namespace: target.Namespace, Name: target.Name, Pointers: ignore.JSONPointers,
		})
	}
	return settings
}

func additionsOf(policy addonsv1alpha1.DriftPolicy) managedfields.Additions {
	switch policy.Additions {
	case addonsv1alpha1.DriftAdditionsAll:
		return managedfields.TakeBackAll
	case addonsv1alpha1.DriftAdditionsNone:
		return managedfields.TakeBackNone
	}
	return managedfields.TakeBackPeopleAndSensitive
}

// rulesVersion tells one set of rules, and of a policy's settings for them, from another.
func rulesVersion(rules managedfields.Rules, policy addonsv1alpha1.DriftPolicy) string {
	return rules.Version([]any{additionsOf(policy), policy.Ignore})
}
