package apply

import (
	"os"
	"testing"

	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/fleettest"
	"github.com/daytwo-dev/daytwo/tools/local/fixture"
)

var shared = fleettest.Env{Installation: installation}

func TestMain(m *testing.M) { os.Exit(fixture.Main(m, 0, shared.Start)) }
