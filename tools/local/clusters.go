package main

import (
	"github.com/spf13/cobra"

	"github.com/daytwo-dev/daytwo/tools/local/localfleet"
)

func addCommand(stateDir *string) *cobra.Command {
	var options localfleet.ClusterOptions
	var register bool
	cmd := &cobra.Command{
		Use:   "add NAME",
		Short: "Add a workload cluster",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withFleet(cmd, *stateDir, func(fleet *localfleet.Fleet) error {
				cluster, err := fleet.AddCluster(cmd.Context(), args[0], options)
				if err != nil || !register {
					return err
				}
				return fleet.Register(cmd.Context(), cluster)
			})
		},
	}
	cmd.Flags().BoolVar(&options.Bare, "bare", false, "API server only: no controllers, scheduler and nodes")
	cmd.Flags().BoolVar(&register, "register", false, "make it a TenantCluster in the namespace "+localfleet.FleetNamespace)
	return cmd
}

func removeCommand(stateDir *string) *cobra.Command {
	return &cobra.Command{
		Use:   "remove NAME",
		Short: "End a workload cluster and delete its data, and its TenantCluster if it is registered",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withFleet(cmd, *stateDir, func(fleet *localfleet.Fleet) error {
				cluster, err := fleet.Cluster(args[0])
				if err != nil {
					return err
				}
				// The manager cannot clean up in a cluster that is gone.
				if err := fleet.Unregister(cmd.Context(), cluster); err != nil {
					return err
				}
				return fleet.RemoveCluster(cmd.Context(), args[0])
			})
		},
	}
}

func stopCommand(stateDir *string) *cobra.Command {
	return &cobra.Command{
		Use:   "stop NAME",
		Short: "Kill a cluster's programs; its data stays",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withCluster(cmd, *stateDir, args[0], func(cluster *localfleet.Cluster) error {
				return cluster.Stop(cmd.Context())
			})
		},
	}
}

func startCommand(stateDir *string) *cobra.Command {
	return &cobra.Command{
		Use:   "start NAME",
		Short: "Start a stopped cluster again, with its data, on the same port",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withCluster(cmd, *stateDir, args[0], func(cluster *localfleet.Cluster) error {
				return cluster.Start(cmd.Context())
			})
		},
	}
}

func withCluster(cmd *cobra.Command, stateDir, name string, use func(*localfleet.Cluster) error) error {
	return withFleet(cmd, stateDir, func(fleet *localfleet.Fleet) error {
		cluster, err := fleet.Cluster(name)
		if err != nil {
			return err
		}
		return use(cluster)
	})
}
