package helmclient

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/release/common"
	release "helm.sh/helm/v4/pkg/release/v1"

	"github.com/daytwo-dev/daytwo/e2e/charts"
)

// phases are those of the hooks that ran, by their names.
func phases(of *release.Release) map[string]release.HookPhase {
	all := map[string]release.HookPhase{}
	for _, hook := range of.Hooks {
		if hook.LastRun.Phase != "" {
			all[strings.TrimPrefix(hook.Name, "acme-hooks-")] = hook.LastRun.Phase
		}
	}
	return all
}

// leftHooks are the objects of hooks that are there.
func (s *site) leftHooks() []string {
	s.Helper()
	var left []string
	for id, object := range s.snapshot() {
		metadata := object.Content["metadata"].(map[string]any)
		annotations, _ := metadata["annotations"].(map[string]any)
		if annotations["helm.sh/hook"] != nil && metadata["deletionTimestamp"] == nil {
			left = append(left, strings.TrimPrefix(id[strings.LastIndex(id, "/")+1:], "acme-hooks-"))
		}
	}
	slices.Sort(left)
	return left
}

func TestHooksRunAndGoAsTheirPoliciesSay(t *testing.T) {
	s := newSite(t, "hooks")
	steps := []struct {
		event string
		do    func()
		left  []string
	}{
		{"installation", func() { s.install("hooks", nil) }, []string{"migrations", "verify"}},
		{"upgrade", func() { s.upgrade("hooks", nil) }, []string{"migrations", "verify"}},
		{"rollback", func() { s.must(s.Rollback(t.Context(), s.name, 1)) }, []string{"export", "migrations", "verify"}},
		{"uninstallation", func() {
			_, _, err := s.Uninstall(t.Context(), s.name)
			s.must(err)
		}, []string{"export", "farewell", "migrations", "verify"}},
	}
	for _, step := range steps {
		step.do()
		s.eventually("hooks go after the "+step.event, func(context.Context) (bool, error) {
			return reflect.DeepEqual(s.leftHooks(), step.left), nil
		})
	}
}

func TestFailingHookFailsTheUpgrade(t *testing.T) {
	s := newSite(t, "failing")
	s.install("hooks", nil)
	values := map[string]any{"upgrade": map[string]any{"fail": true}}
	failed, err := s.Upgrade(t.Context(), s.name, s.archive("hooks", charts.SecondVersion), values)
	if err == nil || !strings.Contains(err.Error(), "acme-hooks-check") {
		t.Errorf("upgrade with a hook that fails: %v", err)
	}
	if failed == nil || failed.Info.Status != common.StatusFailed {
		t.Fatalf("the release is %+v, want it failed", failed)
	}
	want := map[string]release.HookPhase{
		"migrations": release.HookPhaseSucceeded, "migrate": release.HookPhaseSucceeded, "check": release.HookPhaseFailed,
	}
	if got := phases(failed); !maps.Equal(got, want) {
		t.Errorf("hooks = %v, want %v", got, want)
	}
}

func TestTestsTellWhatFailed(t *testing.T) {
	s := newSite(t, "tests")
	s.install("hooks", map[string]any{"tests": map[string]any{"failing": true}})
	tested, err := s.Test(t.Context(), s.name)
	if err == nil || !strings.Contains(err.Error(), "acme-hooks-test-refund") {
		t.Errorf("Test() = %v, want it to name the test that failed", err)
	}
	if tested == nil {
		t.Fatal("there is no release beside the error")
	}
	if got := phases(tested); got["test-order"] != release.HookPhaseSucceeded || got["test-refund"] != release.HookPhaseFailed {
		t.Errorf("tests = %v", got)
	}
}

func TestTestsSucceed(t *testing.T) {
	s := newSite(t, "tested")
	s.install("hooks", nil)
	tested, err := s.Test(t.Context(), s.name)
	s.must(err)
	if got := phases(tested)["test-order"]; got != release.HookPhaseSucceeded {
		t.Errorf("the test's phase is %q", got)
	}
}
