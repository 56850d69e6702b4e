package e2e

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// resultTable collects how each scenario ended under each fault of a place.
type resultTable struct {
	place  string
	faults []fault

	mu   sync.Mutex
	rows []*resultRow
}

type resultRow struct {
	fault string
	// disturbed requests, and how often the one was sent that failed most often.
	disturbed, tries int
	// took is the time from the first act to the last end.
	took time.Duration

	mu     sync.Mutex
	passed map[string]bool
}

func (r *resultTable) row(fault string) *resultRow {
	row := &resultRow{fault: fault, passed: map[string]bool{}}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rows = append(r.rows, row)
	return row
}

func (r *resultRow) tell(scenario string, passed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.passed[scenario] = passed
}

func (r *resultRow) cell(scenario string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.passed[scenario] {
		return "same"
	}
	return "**differs**"
}

var (
	workloadTable   = &resultTable{place: "Between the manager and a workload cluster", faults: workloadFaults()}
	managementTable = &resultTable{place: "Between the manager and the management cluster", faults: managementFaults()}
)

// markdown has the rows in the order of the faults.
func (r *resultTable) markdown() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	text := "## " + r.place + "\n\n| fault | " + strings.Join(scenarioNames(), " | ") + " | requests disturbed | most tries of one | time |\n"
	text += strings.Repeat("|---", len(scenarioNames())+4) + "|\n"
	order := []string{"none"}
	for _, fault := range r.faults {
		order = append(order, fault.name)
	}
	slices.SortFunc(r.rows, func(a, b *resultRow) int { return slices.Index(order, a.fault) - slices.Index(order, b.fault) })
	for _, row := range r.rows {
		var cells []string
		for _, scenario := range scenarioNames() {
			cells = append(cells, row.cell(scenario))
		}
		text += fmt.Sprintf("| %s | %s | %d | %d | %.0f s |\n", row.fault, strings.Join(cells, " | "), row.disturbed, row.tries, row.took.Seconds())
	}
	return text
}

const faultsPreamble = `<!-- Made by "make faults". Do not edit: run it again. -->

# What faults change

A proxy stands between the manager and a cluster, and injects a fault while four add-ons are under way: one
gets a new revision, one is a chart with hooks that is upgraded, one is changed by hand, and one is deleted. *same* means
that the cluster, and Helm's records in it, end as they do without a fault, that the add-on is not said to be Ready
before that, and that nothing is written for three seconds afterwards. A request that fails is tried again at most once
a step of the backoff. After a restore of etcd Helm's records go on from those of the snapshot. [e2e/faults](../e2e/faults) is the proxy, e2e/faults_test.go has the rules.

`

// publish prints a table, and writes all that there are where that was asked for.
func publish(t *testing.T, table *resultTable) {
	t.Logf("faults:\n%s", table.markdown())
	if *faultTable == "" {
		return
	}
	text := faultsPreamble + workloadTable.markdown() + "\n" + managementTable.markdown()
	if err := os.WriteFile(*faultTable, []byte(text), 0o644); err != nil {
		t.Error(err)
	}
}
