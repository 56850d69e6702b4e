package main

import (
	"errors"
	"os"
	"os/exec"

	"github.com/spf13/cobra"

	"github.com/daytwo-dev/daytwo/tools/local/localfleet"
)

// kubectlEnded is that kubectl failed, and has said why.
type kubectlEnded struct{ *exec.ExitError }

// Unwrap returns how it ended.
func (e kubectlEnded) Unwrap() error { return e.ExitError }

// kubectlCommand has no flags of its own, so that it can stand wherever kubectl does.
func kubectlCommand(stateDir *string) *cobra.Command {
	return &cobra.Command{
		Use:                "kubectl ARGUMENT…",
		Short:              "Run kubectl, which is downloaded or built if need be; without --kubeconfig in the management cluster",
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			kubeconfig, err := localfleet.ManagementKubeconfig(*stateDir)
			if err != nil {
				return err
			}
			path, err := localfleet.Kubectl(cmd.Context(), cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			kubectl := exec.CommandContext(cmd.Context(), path, args...)
			kubectl.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
			kubectl.Stdin, kubectl.Stdout, kubectl.Stderr = cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr()
			err = kubectl.Run()
			var ended *exec.ExitError
			if errors.As(err, &ended) && ended.Exited() {
				return kubectlEnded{ended}
			}
			return err
		},
	}
}

func restartCommand(stateDir *string) *cobra.Command {
	return &cobra.Command{
		Use:   "restart",
		Short: "End the manager and start it again, from its binary as it is now",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withFleet(cmd, *stateDir, func(fleet *localfleet.Fleet) error {
				return fleet.RestartManager(cmd.Context())
			})
		},
	}
}
