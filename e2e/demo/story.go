package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"github.com/daytwo-dev/daytwo/e2e/environment"
)

const (
	// building is what the first demo on a slow machine may need for Kubernetes itself.
	building = time.Hour
	// acting is for everything else. It bounds a step as a whole; see also patience.
	acting = 5 * time.Minute
)

// story is the demo while it runs.
type story struct {
	screen    *screen
	manager   string
	customers []customer
	started   time.Time
	figures   figures
	// keep leaves the fleet with all that is in it.
	keep bool
	// tasks go on beside the acts: versions of Kubernetes that only some need are built, and a cluster is ordered, upgraded and
	// returned. Each is nil until an act begins it.
	tasks                              []*background
	versions, order, upgrade, returned *background
	// env is nil before the first step.
	env *environment.Environment
}

// figures are what the summary tells.
type figures struct {
	ready, rollout, noticed, caughtUp time.Duration
	chartReady, chartUpgraded         time.Duration
	recovered                         time.Duration
	certified, renewed, rotated       time.Duration
	ordered, upgraded, returned       time.Duration
	rollbacks                         []time.Duration
}

type step struct {
	title string
	run   func(context.Context) error
	limit time.Duration
}

// steps of a fleet that is kept are all but the last, which removes what there is to look at.
func (s *story) steps() []step {
	steps := s.allSteps()
	if s.keep {
		return steps[:len(steps)-1]
	}
	return steps
}

func (s *story) allSteps() []step {
	return []step{
		{"A management cluster, and Daytwo's manager in it", s.startManagement, building},
		{"Three customers, each with a cluster of their own", s.registerCustomers, acting},
		{"One add-on for all of them", s.installAddon, acting},
		{"The fleet at a glance", s.showTable, acting},
		{"People change things by hand", s.revertEdits, acting},
		{"A cluster dies while a new revision rolls out", s.surviveOutage, acting},
		{"A Helm chart for all of them, out of a registry", s.deliverChart, acting},
		{"A fourth customer orders a cluster", s.orderCluster, building},
		{"A backup, and the proof that it can be restored", s.rehearseRecovery, acting},
		{"The cluster that was ordered is there, and is upgraded", s.upgradeCluster, acting},
		{"A certificate for each of them, its renewal, and a new authority", s.deliverCertificates, acting},
		{"The cluster that was upgraded is given back", s.returnCluster, acting},
		{"Somebody else's cluster is not to be had", s.refuseIntruder, acting},
		{"Certificates and add-ons go, and then the customers", s.deleteEverything, acting},
	}
}

func newStory(screen *screen, manager string, keep bool) *story {
	return &story{
		screen: screen, manager: manager, keep: keep, started: time.Now(),
		customers: []customer{{"acme"}, {"globex"}, {"initech"}},
	}
}

func (s *story) take(ctx context.Context, step step) error {
	ctx, cancel := context.WithTimeout(ctx, step.limit)
	defer cancel()
	return step.run(ctx)
}

// beside starts work that no act waits for. It ends with the story.
func (s *story) beside(ctx context.Context, work func(context.Context, io.Writer) error) *background {
	task := inBackground(context.WithoutCancel(ctx), work)
	s.tasks = append(s.tasks, task)
	return task
}

// timedBeside is beside for work whose duration is a figure. The figure may be read once the work has ended.
func (s *story) timedBeside(ctx context.Context, took *time.Duration, work func(context.Context) error) *background {
	start := time.Now()
	return s.beside(ctx, func(ctx context.Context, _ io.Writer) error {
		err := work(ctx)
		*took = time.Since(start)
		return err
	})
}

func (s *story) close() error {
	for _, task := range s.tasks {
		task.end()
	}
	if s.env == nil {
		return nil
	}
	return s.env.Close()
}

// vitals tells what explains a failure best, if it is so.
func (s *story) vitals() string {
	if s.env != nil && s.env.Manager.PID() == 0 {
		return "; the manager does not run any more"
	}
	return ""
}

// sumUp prints what a person may want to quote.
func (s *story) sumUp() {
	rollbacks := slices.Sorted(slices.Values(s.figures.rollbacks))
	s.screen.Heading("In short")
	s.screen.Figure(fmt.Sprintf("add-on ready in %d clusters after", len(s.customers)), s.figures.ready)
	s.screen.Figure(fmt.Sprintf("%d changes by hand taken back, median", len(rollbacks)), rollbacks[(len(rollbacks)-1)/2])
	s.screen.Figure("slowest of them", rollbacks[len(rollbacks)-1])
	s.screen.Figure("dead cluster reported as such, after", s.figures.noticed)
	s.screen.Figure("new revision in the other clusters meanwhile, after", s.figures.rollout)
	s.screen.Figure("dead cluster caught up, once it answered, after", s.figures.caughtUp)
	s.screen.Figure("Helm chart ready in all of them after", s.figures.chartReady)
	s.screen.Figure("and its next version after", s.figures.chartUpgraded)
	s.screen.Figure("recovery rehearsed: restored, compared, removed, after", s.figures.recovered)
	s.screen.Figure("certificate issued, and in every cluster, after", s.figures.certified)
	s.screen.Figure("renewed one served after", s.figures.renewed)
	s.screen.Figure("its authority rotated in all of them after", s.figures.rotated)
	s.screen.Figure("cluster ordered, with its add-on, after", s.figures.ordered)
	s.screen.Figure("upgraded by a minor version after", s.figures.upgraded)
	if !s.keep {
		s.screen.Figure("gone after", s.figures.returned)
	}
	s.screen.Figure("whole demo", time.Since(s.started))
}

// customer has a namespace in the management cluster, and a cluster of the fleet with the
// customer's name, which the customer calls prod.
type customer struct {
	name string
}

// tenantCluster is the name of every customer's TenantCluster.
const tenantCluster = "prod"

func (c customer) namespace() string { return "customer-" + c.name }

// kubectl is the start of a command for the customer's cluster.
func (c customer) kubectl() string {
	return "kubectl --kubeconfig " + c.kubeconfig()
}

// helm is the start of a helm command for the customer's cluster.
func (c customer) helm() string { return "helm --kubeconfig " + c.kubeconfig() }

func (c customer) kubeconfig() string {
	return filepath.Join(stateDir, "clusters", c.name+".kubeconfig")
}

// kubectl is the start of a command for the management cluster.
func kubectl() string { return "kubectl --kubeconfig " + managementKubeconfig() }

func managementKubeconfig() string { return filepath.Join(stateDir, "management.kubeconfig") }
