// Command bench measures what the manager costs, beside what the same work costs a bare client-go
// loop (package floor), or Helm where a row says so, or the manager itself without what it has to endure
// (package faults), in the same run, and by turns with it: ratios are worth more than times on a machine
// that does other things as well.
//
// It brings up fleets of bare clusters and the manager as a process of its own, writes a JSON list,
// and prints a table. It asserts nothing about time: it fails only if something could not be
// measured.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// options of a run.
type options struct {
	manager  string
	output   string
	stateDir string
	only     []string
	clusters int
	bundles  int
	edits    int
	rounds   int
	idle     time.Duration
	// cycles in which a cluster is lost and found again.
	cycles int
	// hostileObjects that a customer makes.
	hostileObjects int
	// hostileTime is how long a server is hostile.
	hostileTime time.Duration
}

// longestProbeInterval is a minute, and the tenth that Daytwo may add to it: in two of these every
// cluster is probed at least twice.
const longestProbeInterval = 66 * time.Second

func parse(arguments []string) (options, error) {
	var o options
	var only string
	set := flag.NewFlagSet("bench", flag.ContinueOnError)
	set.StringVar(&o.manager, "manager", "", "the manager's binary (default: build it)")
	set.StringVar(&o.output, "output", "bench/results.json", "where to write the results")
	set.StringVar(&o.stateDir, "state-dir", ".daytwo-bench", "where the fleet lives while it runs; its logs stay")
	set.StringVar(&only, "only", "", "measure only rows whose names begin like this, separated by commas")
	set.IntVar(&o.clusters, "clusters", 20, "workload clusters, at least 3")
	set.IntVar(&o.bundles, "bundles", 50, "CertificateBundles that are delivered to all clusters")
	set.IntVar(&o.edits, "edits", 200, "edits of each kind")
	set.IntVar(&o.rounds, "rounds", 11, "rounds of what is measured in seconds")
	set.DurationVar(&o.idle, "idle", 2*longestProbeInterval, "how long to watch an idle fleet")
	set.IntVar(&o.cycles, "cycles", 100, "how often a cluster is lost and found again")
	set.IntVar(&o.hostileObjects, "hostile-objects", 50_000, "objects of a customer's own that look like Daytwo's")
	set.DurationVar(&o.hostileTime, "hostile-time", time.Minute, "how long a server is hostile; half of it, how long it is honest, and how long the status of large objects is written")
	if err := set.Parse(arguments); err != nil {
		return o, err
	}
	o.only = strings.FieldsFunc(only, func(r rune) bool { return r == ',' })
	if o.clusters < 3 || min(o.bundles, o.edits, o.rounds, o.cycles, o.hostileObjects) < 1 || min(o.idle, o.hostileTime) <= 0 {
		return o, errors.New("--clusters must be at least 3, --bundles, --edits, --rounds, --idle, --cycles, --hostile-objects and --hostile-time more than 0")
	}
	return o, nil
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := command(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func command(ctx context.Context, arguments []string) error {
	if len(arguments) > 0 && arguments[0] == bareProcess {
		return runBareProcess(ctx, arguments[1:], os.Stdin, os.Stdout)
	}
	o, err := parse(arguments)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	return run(ctx, o, os.Stdout)
}

// run measures, and writes what could be measured even if something could not.
func run(ctx context.Context, o options, out io.Writer) error {
	start := time.Now()
	b := &bench{options: o, out: out}
	results, err := b.measure(ctx)
	arrange(results)
	err = errors.Join(err, writeResults(o.output, results))
	fmt.Fprintf(out, "\n%d clusters, %d edits, %s:\n\n", o.clusters, o.edits, time.Since(start).Round(time.Second))
	return errors.Join(err, printTable(out, results))
}
