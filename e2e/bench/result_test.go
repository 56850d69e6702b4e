package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestRatioIsOurCostOverTheFloors(t *testing.T) {
	tests := map[string]struct{ value, floor, want float64 }{
		"more than the floor":        {3, 2, 1.5},
		"less than the floor":        {1, 2, 0.5},
		"nothing where none is due":  {0, 0, 0},
		"anything where none is due": {4, 0, 4},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := newResult("row", "s", test.value, test.floor).Ratio; got != test.want {
				t.Errorf("ratio = %v, want %v", got, test.want)
			}
		})
	}
}

func TestEveryRowIsMeasuredByOneMeasurement(t *testing.T) {
	var measured, shown []string
	for _, m := range slices.Concat(shared, apart) {
		measured = append(measured, m.rows...)
	}
	for _, row := range table {
		shown = append(shown, row.name)
	}
	slices.Sort(measured)
	slices.Sort(shown)
	if !slices.Equal(measured, shown) {
		t.Errorf("measured are %v, and shown %v", measured, shown)
	}
}

func TestResultsAreShownInTheOrderOfTheTable(t *testing.T) {
	results := []result{{Name: memoryRow}, {Name: idleRow}, {Name: convergeRow}}
	arrange(results)
	for i, want := range []string{convergeRow, idleRow, memoryRow} {
		if results[i].Name != want {
			t.Errorf("result %d is %s, want %s", i, results[i].Name, want)
		}
	}
}

func TestTheTableSaysWhatMissedItsAim(t *testing.T) {
	var table strings.Builder
	err := printTable(&table, []result{
		newResult(convergeRow, "s", 3, 1), newResult(idleRow, "1/min", 1, 1), newResult(restartSecondsRow, "s", 9, 1),
	})
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(table.String()), "\n")
	for i, want := range []string{"aim", "≤1.5 missed", "≤1", "-"} {
		if !strings.HasSuffix(strings.TrimSpace(lines[i]), want) {
			t.Errorf("line %d is %q, want it to end in %q", i, lines[i], want)
		}
	}
}

func TestResultsAreAListOfFiveFields(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bench", "results.json")
	if err := writeResults(path, []result{newResult("row", "s", 3, 2)}); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var list []map[string]any
	if err := json.Unmarshal(content, &list); err != nil {
		t.Fatal(err)
	}
	for _, field := range []string{"name", "value", "unit", "floor", "ratio"} {
		if _, ok := list[0][field]; !ok || len(list[0]) != 5 {
			t.Errorf("a row is %v, want it to have five fields and %q among them", list[0], field)
		}
	}
}

func TestMeasurementsAreChosenByTheBeginningOfARow(t *testing.T) {
	m := measurement{rows: []string{driftValue.p50(), driftValue.p99()}}
	for prefix, want := range map[string]bool{"drift": true, "drift_rollback_value_p99": true, "drift_rollback_added": false, "memory": false} {
		if got := m.wanted([]string{prefix}); got != want {
			t.Errorf("--only %s selects it: %v, want %v", prefix, got, want)
		}
	}
	if !m.wanted(nil) {
		t.Error("without --only it is not measured")
	}
}
