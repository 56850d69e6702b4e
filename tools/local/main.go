// Command local runs a fleet of real Kubernetes clusters on this machine. It
// needs Go and nothing else; see package localfleet for what it starts.
package main

import (
	"context"
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
	if err := newCommand().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "local:", err)
		os.Exit(1)
	}
}

func newCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "local",
		Short:         "Run a fleet of real Kubernetes clusters on this machine",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	stateDir := root.PersistentFlags().String("state-dir", ".daytwo", "directory that holds the fleet")
	root.AddCommand(
		upCommand(stateDir),
		downCommand(stateDir),
		statusCommand(stateDir),
		addCommand(stateDir),
		removeCommand(stateDir),
		stopCommand(stateDir),
		startCommand(stateDir),
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
		Short: "Build all components, and print where the programs are",
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
