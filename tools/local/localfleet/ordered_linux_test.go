package localfleet_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/daytwo-dev/daytwo/tools/local/localfleet"
)

// Elsewhere than on Linux it takes the next start to end them.
func TestOrderedClustersDieWithAStarterThatIsKilled(t *testing.T) {
	stateDir := t.TempDir()
	starter := runStarter(t, roleOrderStarter, stateDir)
	o := ordersFromFile(t, filepath.Join(stateDir, "management.kubeconfig"))
	o.mustCreate(t, o.newCluster("tied", "small", 0, nil))
	o.expectCondition(t, "tied", "ControlPlaneAvailable", "True")
	if _, running := runningPIDs(t, stateDir)[localfleet.OrderedName(orderNamespace, "tied")]; !running {
		t.Fatalf("running: %v", runningPIDs(t, stateDir))
	}
	if err := starter.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = starter.Wait() // It was killed.
	eventually(t, "processes outlive their starter", func(context.Context) (bool, error) {
		return len(runningPIDs(t, stateDir)) == 0, nil
	})
	startFleet(t, bare(stateDir, 0)) // And ends, with what the killed one left.
	if _, err := os.Stat(filepath.Join(stateDir, "ordered", "fleet.json")); !os.IsNotExist(err) {
		t.Errorf("what was ordered is still recorded: %v", err)
	}
}
