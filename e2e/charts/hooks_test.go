package charts

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	release "helm.sh/helm/v4/pkg/release/v1"
)

// hookEvents are a release's hooks by their names, as "weight kind events policies".
func hookEvents(release *release.Release) map[string]string {
	all := map[string]string{}
	for _, hook := range release.Hooks {
		text := fmt.Sprintf("%d %s", hook.Weight, hook.Kind)
		for _, event := range hook.Events {
			text += " " + event.String()
		}
		for _, policy := range hook.DeletePolicies {
			text += " " + policy.String()
		}
		all[hook.Name] = text
	}
	return all
}

func TestHooksRunAtEveryEvent(t *testing.T) {
	want := map[string]string{
		"acme-hooks-migrations":   "-10 ConfigMap pre-install pre-upgrade pre-rollback",
		"acme-hooks-migrate":      "-5 Job pre-install pre-upgrade before-hook-creation hook-succeeded",
		"acme-hooks-seed":         "0 Job post-install hook-succeeded",
		"acme-hooks-verify":       "5 Job post-install post-upgrade post-rollback before-hook-creation hook-failed",
		"acme-hooks-export":       "-1 Job pre-rollback",
		"acme-hooks-drain":        "0 Job pre-delete before-hook-creation hook-succeeded hook-failed",
		"acme-hooks-farewell":     "0 Job post-delete before-hook-creation",
		"acme-hooks-announcement": "10 Pod post-upgrade before-hook-creation hook-succeeded",
		"acme-hooks-test-order":   "0 Pod test before-hook-creation",
	}
	if got := hookEvents(rendered(t, "hooks", FirstVersion, nil)); !maps.Equal(got, want) {
		t.Errorf("hooks of %s = %v", FirstVersion, got)
	}
	delete(want, "acme-hooks-seed")
	want["acme-hooks-reindex"] = "0 Job post-upgrade before-hook-creation hook-succeeded"
	if got := hookEvents(rendered(t, "hooks", SecondVersion, nil)); !maps.Equal(got, want) {
		t.Errorf("hooks of %s = %v", SecondVersion, got)
	}
}

func TestHooksFailByValue(t *testing.T) {
	values := map[string]any{
		"announcement": map[string]any{"enabled": false},
		"migration":    map[string]any{"fail": true},
		"upgrade":      map[string]any{"fail": true},
		"tests":        map[string]any{"failing": true},
	}
	release := rendered(t, "hooks", FirstVersion, values)
	for _, hook := range release.Hooks {
		fails := strings.Contains(hook.Manifest, "pod-container-running-failed")
		want := slices.Contains([]string{"acme-hooks-migrate", "acme-hooks-check", "acme-hooks-test-refund"}, hook.Name)
		if fails != want {
			t.Errorf("%s is to fail: %v, want %v", hook.Name, fails, want)
		}
	}
	if _, there := hookEvents(release)["acme-hooks-announcement"]; there {
		t.Error("there is an announcement that is switched off")
	}
}
