package resources

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/daytwo-dev/daytwo/tools/local/fixture"
	"github.com/daytwo-dev/daytwo/tools/local/localfleet"
)

var servers *localfleet.Fleet

func TestMain(m *testing.M) {
	os.Exit(fixture.Main(m, 0, func(ctx context.Context, dir string) (end func() error, err error) {
		servers, err = fixture.StartFleet(ctx, filepath.Join(dir, "fleet"), localfleet.Options{ClusterOptions: localfleet.ClusterOptions{Bare: true}})
		if err != nil {
			return nil, err
		}
		return servers.Close, nil
	}))
}

func TestBuiltinKindsAreWhatServersServe(t *testing.T) {
	config := servers.Management().Config()
	client := discovery.NewDiscoveryClientForConfigOrDie(config)
	version, err := client.ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	lists := map[schema.GroupVersion]bool{}
	for kind, want := range builtinKinds()[fmt.Sprintf("v%s.%s", version.Major, version.Minor)] {
		lists[kind.GroupVersion()] = true
		list, err := client.ServerResourcesForGroupVersion(kind.GroupVersion().String())
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := find(list, kind); !ok || got != want {
			t.Errorf("%s: the table has %+v, and the server %+v", kind, want, got)
		}
	}
	if len(lists) < 15 {
		t.Errorf("the table knows of %d versions of groups for %s", len(lists), version)
	}
}
