package main

import (
	"os"
	"os/exec"

	"github.com/spf13/cobra"

	"github.com/daytwo-dev/daytwo/tools/local/localfleet"
)

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
			return kubectl.Run()
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
