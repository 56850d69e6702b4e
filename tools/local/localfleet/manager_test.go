package localfleet_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/daytwo-dev/daytwo/tools/local/localfleet"
)

func testManager(t *testing.T, fleet *localfleet.Fleet) {
	if url := fleet.ManagerMetricsURL(); url != "" {
		t.Errorf("the metrics of no manager are at %s", url)
	}
	if err := fleet.RestartManager(t.Context()); err == nil || !strings.Contains(err.Error(), "bring it up with one first") {
		t.Errorf("the restart of no manager: %v", err)
	}
	for name, test := range map[string]func(*testing.T, *localfleet.Fleet){
		"that is started twice":   testManagerIsReplaced,
		"that is restarted":       testManagerIsRestarted,
		"that ends as it should":  testManagerStops,
		"that fails at the end":   testManagerFailsAtTheEnd,
		"that is killed":          testManagerIsKilled,
		"that ends early":         testManagerEndsEarly,
		"that ends without words": testManagerEndsWithoutWords,
		"that serves webhooks":    testManagerServesWebhooks,
	} {
		t.Run(name, func(t *testing.T) { test(t, fleet) })
	}
}

// startManager starts a manager that ends with an exit code when it is asked to.
func startManager(t *testing.T, fleet *localfleet.Fleet, exitCode string) (pid int) {
	t.Helper()
	t.Setenv(roleVariable, roleManager)
	t.Setenv(exitCodeVariable, exitCode)
	if err := fleet.StartManager(t.Context(), os.Args[0], "--any-flag"); err != nil {
		t.Fatal(err)
	}
	return fleet.ManagerPID()
}

func expectNoManager(t *testing.T, fleet *localfleet.Fleet) {
	t.Helper()
	if pid := fleet.ManagerPID(); pid != 0 {
		t.Errorf("a manager still runs as process %d", pid)
	}
	if pid, running := runningPIDs(t, fleet.StateDir())["manager"]; running {
		t.Errorf("the status tells of a manager that runs as process %d", pid)
	}
	if err := fleet.StopManager(t.Context()); err == nil || !strings.Contains(err.Error(), "start it first") {
		t.Errorf("stopping none gives %v", err)
	}
}

func testManagerIsReplaced(t *testing.T, fleet *localfleet.Fleet) {
	first, url := startManager(t, fleet, "0"), fleet.ManagerMetricsURL()
	second := startManager(t, fleet, "0")
	if first == 0 || second == 0 || first == second {
		t.Errorf("the manager ran as process %d, and after another start as %d", first, second)
	}
	if again := fleet.ManagerMetricsURL(); url == "" || again != url {
		t.Errorf("the metrics moved from %q to %q", url, again)
	}
}

func testManagerIsRestarted(t *testing.T, fleet *localfleet.Fleet) {
	first := startManager(t, fleet, "0")
	for _, end := range []string{"a running manager", "one that was killed"} {
		if err := fleet.RestartManager(t.Context()); err != nil {
			t.Fatalf("restart %s: %v", end, err)
		}
		again := fleet.ManagerPID()
		if again == 0 || again == first {
			t.Errorf("the manager ran as process %d, and as %d after the restart of %s", first, again, end)
		}
		if err := fleet.KillManager(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func testManagerStops(t *testing.T, fleet *localfleet.Fleet) {
	startManager(t, fleet, "0")
	if err := fleet.StopManager(t.Context()); err != nil {
		t.Error(err)
	}
	expectNoManager(t, fleet)
}

func testManagerFailsAtTheEnd(t *testing.T, fleet *localfleet.Fleet) {
	startManager(t, fleet, "7")
	err := fleet.StopManager(t.Context())
	if err == nil || !strings.Contains(err.Error(), "exit status 7") || !strings.HasSuffix(err.Error(), "\nasked to end") {
		t.Errorf("StopManager() = %v, want the exit code and the last words", err)
	}
	expectNoManager(t, fleet)
}

func testManagerIsKilled(t *testing.T, fleet *localfleet.Fleet) {
	startManager(t, fleet, "0")
	if err := fleet.KillManager(t.Context()); err != nil {
		t.Error(err)
	}
	expectNoManager(t, fleet)
}

func testManagerEndsEarly(t *testing.T, fleet *localfleet.Fleet) {
	t.Setenv(roleVariable, roleBrokenManager)
	err := fleet.StartManager(t.Context(), os.Args[0])
	if err == nil || !strings.Contains(err.Error(), "flag provided but not defined") {
		t.Errorf("StartManager() = %v, want an error with what the manager said", err)
	}
	expectNoManager(t, fleet)
}

// What an earlier manager said is no word of this one.
func testManagerEndsWithoutWords(t *testing.T, fleet *localfleet.Fleet) {
	startManager(t, fleet, "0")
	if err := fleet.StopManager(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Setenv(roleVariable, roleSilentManager)
	err := fleet.StartManager(t.Context(), os.Args[0])
	want := "manager did not become ready: it ended by itself: exit status 3; it logged nothing to " + fleet.ManagerLog()
	if err == nil || err.Error() != want {
		t.Errorf("StartManager() = %v, want %s", err, want)
	}
	expectNoManager(t, fleet)
}

// testManagerKeepsItsPortsWhenItGetsMore: a fleet that goes on may have been started by a version of this program whose
// managers had fewer ports.
func testManagerKeepsItsPortsWhenItGetsMore(t *testing.T, closed *localfleet.Fleet) {
	metrics, profiles := closed.ManagerMetricsURL(), closed.ManagerProfilesURL()
	forgetWebhookPort(t, filepath.Join(closed.StateDir(), "fleet.json"))

	fleet, err := localfleet.Open(t.Context(), closed.StateDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := fleet.Close(); err != nil {
			t.Error(err)
		}
	}()
	if where, err := fleet.InstallWebhooks(t.Context(), nil); err != nil || strings.HasSuffix(where.Address, ":0") {
		t.Errorf("InstallWebhooks() = %v, %v", where, err)
	}
	if fleet.ManagerMetricsURL() != metrics || fleet.ManagerProfilesURL() != profiles {
		t.Errorf("%s and %s moved to %s and %s", metrics, profiles, fleet.ManagerMetricsURL(), fleet.ManagerProfilesURL())
	}
}

func forgetWebhookPort(t *testing.T, file string) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var state map[string]any
	if err := json.Unmarshal(content, &state); err != nil {
		t.Fatal(err)
	}
	ports, ok := state["manager"].(map[string]any)
	if !ok {
		t.Fatalf("%s knows no manager: %s", file, content)
	}
	delete(ports, "webhookPort")
	if content, err = json.Marshal(state); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
}
