// Command local runs a fleet of real Kubernetes clusters on this machine. It
// needs Go and nothing else; see package localfleet for what it starts.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/daytwo-dev/daytwo/tools/local/localfleet"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := newCommand().ExecuteContext(ctx)
	var ended kubectlEnded
	if errors.As(err, &ended) {
		os.Exit(ended.ExitCode())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "local:", err)
		os.Exit(1)
	}
}

// defaultStateDir is where make local-up has its fleet.
const defaultStateDir = ".daytwo"

func newCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "local",
		Short:         "Run a fleet of real Kubernetes clusters on this machine",
		SilenceUsage:  true,
		SilenceErrors: true,
		// Flags in front of a command are not passed to kubectl.
		TraverseChildren: true,
	}
	stateDir := root.PersistentFlags().String("state-dir", defaultStateDir, "directory that holds the fleet")
	root.AddCommand(
		upCommand(stateDir),
		downCommand(stateDir),
		statusCommand(stateDir),
		addCommand(stateDir),
		removeCommand(stateDir),
		stopCommand(stateDir),
		startCommand(stateDir),
		restartCommand(stateDir),
		kubectlCommand(stateDir),
		buildCommand(),
	)
	return root
}

// withFleet takes up the running fleet, lets use work on it and lets it go.
func withFleet(cmd *cobra.Command, stateDir string, use func(*localfleet.Fleet) error) error {
	fleet, err := localfleet.Open(cmd.Context(), stateDir, cmd.OutOrStdout())
	if err != nil {
		return err
	}
	if err := use(fleet); err != nil {
		_ = fleet.Close() // It only gives up a lock; the first error matters.
		return err
	}
	return fleet.Close()
}

func buildCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "build",
		Short: "Download or build all components, and print where the programs are; BUILD=source downloads none",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			binaries, err := localfleet.Build(cmd.Context(), cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), strings.Join(binaries, "\n"))
			return err
		},
	}
}
