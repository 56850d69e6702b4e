package target

import (
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/managedfields"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
)

// SettingsOf reads the settings of a policy.
func SettingsOf(policy metav1alpha1.DriftPolicy) apply.Settings {
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

func additionsOf(policy metav1alpha1.DriftPolicy) managedfields.Additions {
	switch policy.Additions {
	case metav1alpha1.DriftAdditionsAll:
		return managedfields.RevertAll
	case metav1alpha1.DriftAdditionsNone:
		return managedfields.RevertNone
	}
	return managedfields.RevertPeopleAndSensitive
}

// RulesVersion tells one set of rules, and of a policy's settings for them, from another.
func RulesVersion(rules managedfields.Rules, policy metav1alpha1.DriftPolicy) string {
	return rules.Version([]any{additionsOf(policy), policy.Ignore})
}
