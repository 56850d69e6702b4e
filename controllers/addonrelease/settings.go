package addonrelease

import (
	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/managedfields"
)

// settingsOf reads the settings of a policy.
func settingsOf(policy addonsv1alpha1.DriftPolicy) driftSettings {
	settings := driftSettings{mode: driftMode(policy.Mode), additions: additionsOf(policy)}
	if settings.mode == "" {
		settings.mode = driftCorrect
	}
	for _, ignore := range policy.Ignore {
		target := ignore.Target
		settings.ignored = append(settings.ignored, ignoredFields{
			group: target.Group, kind: target.Kind, namespace: target.Namespace, name: target.Name, pointers: ignore.JSONPointers,
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
