package main

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
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
			if err := localfleet.Down(cmd.Context(), *stateDir); err != nil {
				return err
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), "nothing runs any more")
			return err
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
	rows := [][]string{{"NAME", "ENDPOINT", "PID", "STATE", "SINCE"}}
	for _, program := range programs {
		rows = append(rows, statusRow(program, now))
	}
	for _, row := range rows {
		if _, err := fmt.Fprintln(table, strings.Join(row, "\t")); err != nil {
			return err
		}
	}
	return table.Flush()
}

func statusRow(program localfleet.ProgramStatus, now time.Time) []string {
	endpoint := cmp.Or(program.Endpoint, "-")
	if !program.Up {
		return []string{program.Name, endpoint, "-", "down", "-"}
	}
	since := duration.HumanDuration(now.Sub(program.Since))
	return []string{program.Name, endpoint, strconv.Itoa(program.PID), "up", since}
}
