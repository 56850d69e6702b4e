package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"text/tabwriter"
)

// result is one row: what Daytwo costs, and what the least cost there can be.
type result struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	// Floor is what a bare loop needed for the same in the same run, or Helm, or the manager
	// before or without what is measured.
	Floor float64 `json:"floor"`
	// Ratio is Value ÷ Floor: the larger, the worse. Where the floor is 0, it is Value itself.
	Ratio float64 `json:"ratio"`
}

func newResult(name, unit string, value, floor float64) result {
	r := result{Name: name, Value: value, Unit: unit, Floor: floor, Ratio: value}
	if floor != 0 {
		r.Ratio = value / floor
	}
	return r
}

// row of the table.
type row struct {
	name string
	// aim is the ratio that the project wants to stay below; noAim if it only wants to know. A
	// benchmark asserts nothing: it prints the aim beside what was measured.
	aim float64
}

const noAim = -1

// table is what there is to measure, in the order in which it is shown.
var table = []row{
	{convergeRow, 1.5},
	{driftValue.p50(), 1.5},
	{driftValue.p99(), 3},
	{driftAdded.p50(), 3},
	{driftAdded.p99(), 6},
	{idleRow, 1},
	{memoryRow, 1.5},
	{restartSecondsRow, noAim},
	{restartWritesRow, 0},
	{chartConvergeRow, 1.5},
	{chartVersusHelmRow, 0.6},
	{chartMemoryRow, noAim},
	{orderRow, noAim},
	{drillRow, 1.3},
	{enrollmentsRow, noAim},
	{deliveriesRow, 1.5},
	{recordedRow, noAim},
	{issuedRow, 1.5},
	{rotationRow, noAim},
	{unreachableDriftRow, 1.1},
	{unreachableConvergeRow, 1.1},
	{unreachableTriesRow, 1},
	{flapRow, 1},
	{neighbourDriftRow, 1.15},
	{neighbourConvergeRow, 1.15},
	{reconnectRow, 1.02},
	{hostileRow, 1.05},
	{hostileServerRow, 1.1},
	{hostilePeakRow, noAim},
	{labelledRow, 1.1},
}

// arrange puts results, which come in the order in which they were measured, in that of the table.
func arrange(results []result) {
	place := func(r result) int {
		return slices.IndexFunc(table, func(row row) bool { return row.name == r.Name })
	}
	slices.SortStableFunc(results, func(a, b result) int { return cmp.Compare(place(a), place(b)) })
}

// writeResults writes a JSON list, as a whole or not at all.
func writeResults(path string, results []result) error {
	content, err := json.MarshalIndent(results, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	temporary := path + ".tmp"
	if err := os.WriteFile(temporary, append(content, '\n'), 0o644); err != nil {
		return fmt.Errorf("write the results: %w", err)
	}
	return os.Rename(temporary, path)
}

// printTable prints the results for a person, each with what it aims at.
func printTable(out io.Writer, results []result) error {
	columns := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(columns, "name\tvalue\tfloor\tunit\tratio\taim\t")
	for _, r := range results {
		fmt.Fprintf(columns, "%s\t%s\t%s\t%s\t%.2f\t%s\t\n", r.Name, number(r.Value), number(r.Floor), r.Unit, r.Ratio, aimOf(r))
	}
	return columns.Flush()
}

func aimOf(r result) string {
	for _, row := range table {
		if row.name != r.Name || row.aim == noAim {
			continue
		}
		text := "≤" + strconv.FormatFloat(row.aim, 'g', -1, 64)
		if r.Ratio > row.aim {
			return text + " missed"
		}
		return text
	}
	return "-"
}

// number prints a value with three digits that matter.
func number(value float64) string {
	switch {
	case value >= 100:
		return strconv.FormatFloat(value, 'f', 0, 64)
	case value >= 10:
		return strconv.FormatFloat(value, 'f', 1, 64)
	case value >= 1:
		return strconv.FormatFloat(value, 'f', 2, 64)
	}
	return strconv.FormatFloat(value, 'g', 3, 64)
}
