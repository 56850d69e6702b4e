package localfleet

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/daytwo-dev/daytwo/tools/local/internal/component"
	"github.com/daytwo-dev/daytwo/tools/local/internal/process"
)

// Cluster is one cluster of a fleet.
type Cluster struct {
	fleet       *Fleet
	name        string
	port        int
	etcdPorts   etcdState
	options     ClusterOptions
	credentials *credentials
	config      *rest.Config

	// mu lets one caller at a time start or stop the cluster.
	mu sync.Mutex
}

func (f *Fleet) newCluster(s clusterState) (*Cluster, error) {
	credentials, err := openCredentials(f.paths.pki(s.Name), s.Name, loopbackURL(s.Port))
	if err != nil {
		return nil, err
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(credentials.kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1 // The server's own fairness is limit enough.
	if err := writeFile(f.paths.kubeconfig(s.Name), credentials.kubeconfig); err != nil {
		return nil, err
	}
	return &Cluster{
		fleet: f, name: s.Name, port: s.Port, etcdPorts: s.Etcd, options: s.ClusterOptions, credentials: credentials, config: config,
	}, nil
}

// Name returns the cluster's name: "management", "workload-1", …
func (c *Cluster) Name() string { return c.name }

// Endpoint returns the URL of the API server. It stays the same over Stop and
// Start.
func (c *Cluster) Endpoint() string { return loopbackURL(c.port) }

// Config returns an administrator's client configuration, without client-side
// rate limit.
func (c *Cluster) Config() *rest.Config { return rest.CopyConfig(c.config) }

// Kubeconfig returns an administrator's kubeconfig with everything embedded.
func (c *Cluster) Kubeconfig() []byte { return c.credentials.kubeconfig }

// KubeconfigFor returns a kubeconfig whose client certificate makes the API
// server take its bearer for user, in groups, until ttl has passed. What that
// user may do is up to the cluster's roles.
func (c *Cluster) KubeconfigFor(user string, groups []string, ttl time.Duration) ([]byte, error) {
	return issueKubeconfig(c.credentials.authority, c.name, c.Endpoint(), user, groups, ttl)
}

// Start brings the cluster's programs up, as far as they don't run yet, lets a
// paused one go on, and waits until the cluster is ready: its API server
// answers, and unless the cluster is bare, a new pod would be scheduled.
func (c *Cluster) Start(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	start := time.Now()
	if err := c.fleet.startEtcd(ctx, c.etcd()); err != nil {
		return err
	}
	if err := c.startAPIServer(ctx); err != nil {
		return err
	}
	if !c.options.Bare {
		if err := c.startCompanions(ctx); err != nil {
			return err
		}
	}
	if c.hasVelero() {
		if err := c.startVelero(ctx); err != nil {
			return err
		}
	}
	c.fleet.progressf("%s: ready on %s after %.1fs", c.name, c.Endpoint(), time.Since(start).Seconds())
	return nil
}

// Stop kills all programs of the cluster, as a machine that dies would. Its data
// stays in etcd, or in the files of an etcd of its own, which is killed too.
func (c *Cluster) Stop(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var problems []error
	for _, binary := range programsOfCluster {
		if p, running := c.lookup(binary); running {
			problems = append(problems, p.KillGroup(ctx))
		}
	}
	return errors.Join(problems...)
}

// Pause freezes the API server. To its clients it looks as if the network
// swallowed their packets: connections stay open, and new ones are even
// accepted by the kernel, but nothing is ever answered.
func (c *Cluster) Pause() error {
	p, running := c.lookup(apiServer)
	if !running {
		return fmt.Errorf("%s does not run; start it first", c.name)
	}
	return p.Pause(context.Background())
}

// Resume lets a paused API server go on.
func (c *Cluster) Resume() error {
	p, running := c.lookup(apiServer)
	if !running {
		return fmt.Errorf("%s does not run; start it first", c.name)
	}
	if err := p.Signal(syscall.SIGCONT); err != nil {
		return fmt.Errorf("resume the API server of %s: %w", c.name, err)
	}
	return nil
}

// runsPods tells whether the cluster has what it takes to run workloads.
func (c *Cluster) runsPods() bool {
	return !c.options.Bare && c.name != managementName
}

// hasNodesOfItsOwn tells whether nodes come with the cluster. Nodes of an ordered
// one are Machines.
func (c *Cluster) hasNodesOfItsOwn() bool { return c.fleet.paths.host == "" }

func (c *Cluster) startAPIServer(ctx context.Context) error {
	p, err := c.fleet.ensure(ctx, program{
		name:   c.program(apiServer),
		binary: apiServer, version: c.options.Version,
		args:  c.apiServerArgs(),
		env:   []string{seldomCollects},
		ports: []int{c.port},
	})
	if err != nil {
		return err
	}
	if err := p.Signal(syscall.SIGCONT); err != nil {
		return fmt.Errorf("let the API server of %s go on: %w", c.name, err)
	}
	return waitReady(ctx, c.Ready, p)
}

// startCompanions starts what works in the cluster beside its API server.
func (c *Cluster) startCompanions(ctx context.Context) error {
	companions, err := c.companions(ctx)
	if err != nil {
		return err
	}
	started := make([]*process.Process, len(companions))
	for i, companion := range companions {
		if started[i], err = c.fleet.ensure(ctx, companion); err != nil {
			return err
		}
	}
	if !c.runsPods() {
		return nil
	}
	client, err := kubernetes.NewForConfig(c.config)
	if err != nil {
		return err
	}
	if c.hasNodesOfItsOwn() {
		if err := createNodes(ctx, client); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	return waitReady(ctx, func(ctx context.Context) error { return podsCanRun(ctx, client) }, started...)
}

func (c *Cluster) companions(ctx context.Context) ([]program, error) {
	companions := []program{{
		name: c.program(controllers), binary: controllers, version: c.options.Version, args: c.controllersArgs(),
	}}
	if !c.runsPods() {
		return companions, nil
	}
	kwokProgram, err := c.kwokProgram(ctx)
	if err != nil {
		return nil, err
	}
	schedulerProgram := program{
		name: c.program(scheduler), binary: scheduler, version: c.options.Version, args: c.schedulerArgs(),
	}
	return append(companions, kwokProgram, schedulerProgram), nil
}

func (c *Cluster) kwokProgram(ctx context.Context) (program, error) {
	stages, err := c.fleet.components.Files(ctx, component.KwokStages)
	if err != nil {
		return program{}, err
	}
	args, err := c.kwokArgs(stages)
	if err != nil {
		return program{}, err
	}
	// Otherwise KWOK would read the configuration in the user's home.
	env := []string{"KWOK_WORKDIR=" + c.fleet.paths.kwok(c.name)}
	return program{name: c.program(kwok), binary: kwok, args: args, env: env}, nil
}

// program is the name that a program of this cluster has in the fleet.
func (c *Cluster) program(binary string) string { return programName(c.name, binary) }

// programName keeps programs of different clusters apart: the name of a cluster
// has no dot.
func programName(cluster, binary string) string { return cluster + "." + binary }

func (c *Cluster) lookup(binary string) (*process.Process, bool) {
	return c.fleet.processes.Lookup(c.program(binary))
}
