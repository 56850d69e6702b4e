package main

import (
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/daytwo-dev/daytwo/tools/local/localfleet"
)

func downCommand(stateDir *string) *cobra.Command {
	return &cobra.Command{
		Use:   "down",
		Short: "End the fleet and delete everything but its logs",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return localfleet.Down(cmd.Context(), *stateDir)
		},
	}
}

func statusCommand(stateDir *string) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show what runs",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			programs, err := localfleet.Status(*stateDir)
			if err != nil {
				return err
			}
			return printStatus(cmd.OutOrStdout(), programs, time.Now())
		},
	}
}

func printStatus(out io.Writer, programs []localfleet.ProgramStatus, now time.Time) error {
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "NAME\tENDPOINT\tPID\tSTATE\tSINCE")
	for _, program := range programs {
		state, pid, since := "down", "-", "-"
		if program.Up {
			state, pid = "up", strconv.Itoa(program.PID)
			since = duration.HumanDuration(now.Sub(program.Since))
		}
		endpoint := program.Endpoint
		if endpoint == "" {
			endpoint = "-"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", program.Name, endpoint, pid, state, since)
	}
	return table.Flush()
}
