// Command local-provider gives Cluster API the clusters of the local fleet. It is
// an infrastructure, control plane and bootstrap provider in one, for development
// and tests; package controllers says what it promises.
//
// The fleet starts it, beside Cluster API's own manager. It is a program of its
// own, built like the fleet's other components, so that it can be killed like one
// and works alike for the command line and for tests that use the fleet as a
// library.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/daytwo-dev/daytwo/tools/local/localfleet"
	"github.com/daytwo-dev/daytwo/tools/local/provider/controllers"
)

func main() {
	// controller-runtime reads --kubeconfig itself.
	stateDir := flag.String("state-dir", "", "directory that holds the fleet")
	componentsDir := flag.String("components-dir", "", "directory of the components' modules; looked for if empty")
	healthAddr := flag.String("health-addr", "", "address that answers /readyz")
	flag.Parse()
	ctrl.SetLogger(klog.Background())
	if err := run(ctrl.SetupSignalHandler(), *stateDir, *componentsDir, *healthAddr); err != nil {
		fmt.Fprintln(os.Stderr, "local-provider:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, stateDir, componentsDir, healthAddr string) error {
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	config.QPS = -1 // The server's own fairness is limit enough.
	clusters, err := localfleet.OpenOrdered(ctx, stateDir, componentsDir, os.Stdout)
	if err != nil {
		return err
	}
	defer clusters.Close()
	manager, err := controllers.NewManager(config, clusters, healthAddr)
	if err != nil {
		return err
	}
	return manager.Start(ctx)
}
