package environment

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/daytwo-dev/daytwo/tools/local/localfleet"
)

// Options say what Start brings up.
type Options struct {
	// StateDir holds everything of the environment. Two of them cannot share one.
	StateDir string
	// Clusters is the number of workload clusters: workload-1, workload-2, …
	Clusters int
	// Bare leaves out controllers, scheduler and nodes, in all clusters. No pod becomes ready
	// then, and a namespace that is deleted stays Terminating.
	Bare bool
	// OwnEtcd gives each cluster an etcd of its own, the management cluster too, so that it can be put back to a snapshot.
	OwnEtcd bool
	// Velero runs a Velero server for each workload cluster, and an S3 gateway.
	Velero bool
	// ClusterAPI runs Cluster API in the management cluster, so that clusters can be ordered.
	ClusterAPI bool
	// CertManager runs cert-manager's controllers against the management cluster, without its webhook.
	CertManager bool
	// Manager is the path of the manager's binary. Empty takes the one that BinaryVariable names, and builds it without.
	Manager string
	// ManagerArgs are further arguments of the manager. One that has to come back quickly after
	// Kill needs "--leader-election=off": a killed leader's lease lasts 15 seconds.
	ManagerArgs []string
	// ManagerKubeconfig changes the kubeconfig that each start of the manager gets, so that a proxy can stand between it
	// and the management cluster. Nil leaves it.
	ManagerKubeconfig func(direct []byte) ([]byte, error)
	// BeforeManager is called once the fleet is up and has what the manager needs, before the manager's first start.
	// Nil does nothing.
	BeforeManager func(context.Context, *localfleet.Fleet) error
	// Detached lets the environment go on after Close and after the program's end.
	Detached bool
	// VersionsLater leaves out older versions of Kubernetes, as localfleet.Options has it.
	VersionsLater bool
	// Progress is told what happens, a line at a time. Nil keeps it quiet.
	Progress io.Writer
	// Components is told what is downloaded and built, as localfleet.Options has it. Nil tells Progress.
	Components io.Writer
}

// Environment is a fleet and the manager that works on it. Its methods may be called at the same
// time.
type Environment struct {
	Fleet *localfleet.Fleet
	// Admin is an administrator of the management cluster.
	Admin   client.WithWatch
	Manager *Manager

	mu        sync.Mutex
	workloads map[string]client.WithWatch
}

// Start brings up the fleet, installs in its management cluster what the manager needs, and starts
// the manager. It returns when the manager is ready, and leaves nothing behind if it fails, except
// logs. What an earlier environment left in StateDir is ended and removed.
func Start(ctx context.Context, options Options) (*Environment, error) {
	root, err := repositoryRoot()
	if err != nil {
		return nil, err
	}
	fleet, err := localfleet.Start(ctx, localfleet.Options{
		StateDir:       options.StateDir,
		Clusters:       options.Clusters,
		ClusterOptions: localfleet.ClusterOptions{Bare: options.Bare, OwnEtcd: options.OwnEtcd, Velero: options.Velero},
		ClusterAPI:     options.ClusterAPI,
		CertManager:    options.CertManager,
		Detached:       options.Detached,
		VersionsLater:  options.VersionsLater,
		Progress:       options.Progress,
		Components:     options.Components,

		ManagerKubeconfig: options.ManagerKubeconfig,
	})
	if err != nil {
		return nil, fmt.Errorf("start the local fleet: %w", err)
	}
	env, err := populate(ctx, fleet, root, options)
	if err != nil {
		return nil, errors.Join(err, fleet.Close())
	}
	return env, nil
}

// populate makes an empty fleet an environment.
func populate(ctx context.Context, fleet *localfleet.Fleet, root string, options Options) (*Environment, error) {
	if err := install(ctx, fleet, root); err != nil {
		return nil, err
	}
	if options.BeforeManager != nil {
		if err := options.BeforeManager(ctx, fleet); err != nil {
			return nil, err
		}
	}
	admin, err := newClient(fleet.Management())
	if err != nil {
		return nil, err
	}
	binary, err := managerBinary(ctx, root, fleet.StateDir(), options.Manager)
	if err != nil {
		return nil, err
	}
	manager := &Manager{fleet: fleet, binary: binary, args: options.ManagerArgs}
	if err := manager.Start(ctx); err != nil {
		return nil, err
	}
	return &Environment{Fleet: fleet, Admin: admin, Manager: manager, workloads: map[string]client.WithWatch{}}, nil
}

// Close ends the manager and the fleet and removes their state, unless they are Detached. Only logs stay.
func (e *Environment) Close() error { return e.Fleet.Close() }
