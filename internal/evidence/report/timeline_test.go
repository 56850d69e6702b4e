package report

import (
	"reflect"
	"testing"
	"time"

	"github.com/daytwo-dev/daytwo/internal/evidence"
)

// start of the drills of these tests.
var start = time.Date(2026, 11, 23, 11, 24, 3, 0, time.UTC)

// after so many seconds of a drill.
func after(seconds int) *time.Time {
	at := start.Add(time.Duration(seconds) * time.Second)
	return &at
}

func TestAStepIsDrawnWhereItWas(t *testing.T) {
	for name, row := range map[string]struct {
		began, ended *time.Time
		x, width     float64
		when, took   string
	}{
		"in the middle":            {after(25), after(75), 25, 50, "From 25s to 1m15s.", "50s"},
		"all the time":             {after(0), after(100), 0, 100, "From 0s to 1m40s.", "1m40s"},
		"no time":                  {after(50), after(50), 50, minWidth, "From 50s to 50s.", "0s"},
		"no time at the end":       {after(100), after(100), 100 - minWidth, minWidth, "From 1m40s to 1m40s.", "0s"},
		"an end before its start":  {after(50), after(20), 50, minWidth, "It began at 50s, and its recorded end is before that.", "not known"},
		"no end":                   {after(60), nil, 60, 40, "From 1m on; no end is recorded.", "not known"},
		"an end that is not known": {after(60), &time.Time{}, 60, 40, "From 1m on; no end is recorded.", "not known"},
		"a start not known":        {&time.Time{}, after(20), 0, 0, "It is not known when it began.", "not known"},
	} {
		t.Run(name, func(t *testing.T) {
			d := drill{Document: evidence.Document{
				Drill: evidence.Drill{StartedAt: start}, RecoveryTime: "1m40s",
				Timeline: []evidence.Step{{Name: "restore", StartedAt: *row.began, EndedAt: row.ended, Outcome: "Succeeded"}},
			}}
			rows := timelineOf(d).Rows
			if rows[0].Name != "The whole drill" || rows[0].X != 0 || rows[0].Width != 100 {
				t.Errorf("the whole drill is %+v", rows[0])
			}
			got := rows[1]
			if got.X != row.x || got.Width != row.width || got.When != row.when || got.Took != row.took {
				t.Errorf("got %+v, want %+v", got, row)
			}
		})
	}
}

func TestNoStepLeavesTheTimeline(t *testing.T) {
	moments := []time.Time{
		{}, start, start.Add(-time.Hour), start.Add(time.Nanosecond), start.Add(200 * 24 * time.Hour),
		time.Date(1, 1, 1, 0, 0, 1, 0, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC),
	}
	for _, drilled := range moments {
		for _, took := range []string{"", "0s", "-5s", "1h0m0s", "2562047h47m16s", "soon"} {
			d := drill{Document: evidence.Document{Drill: evidence.Drill{StartedAt: drilled}, RecoveryTime: took}}
			for _, began := range moments {
				d.Timeline = append(d.Timeline, evidence.Step{StartedAt: began})
				for _, ended := range moments {
					d.Timeline = append(d.Timeline, evidence.Step{StartedAt: began, EndedAt: &ended})
				}
			}
			got := timelineOf(d)
			for i, r := range got.Rows {
				if !(r.X >= 0 && r.Width >= 0 && r.X+r.Width <= 100.001) {
					t.Fatalf("a drill of %v that took %q: row %d is %+v", drilled, took, i, r)
				}
			}
			for _, tick := range got.Ticks {
				if !(tick.X >= 0 && tick.X <= 100) || len(got.Ticks) > maxTicks+1 {
					t.Fatalf("a drill of %v that took %q: ticks are %+v", drilled, took, got.Ticks)
				}
			}
		}
	}
}

func TestADrillWithoutTimesHasAnEmptyTimeline(t *testing.T) {
	got := timelineOf(drill{})
	if want := (timeline{Ticks: []tick{{Text: "0s"}}}); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
	undated := timelineOf(drill{Document: evidence.Document{RecoveryTime: "5s", Timeline: []evidence.Step{{Name: "restore"}}}})
	if len(undated.Rows) != 1 || undated.Rows[0].Width != 0 {
		t.Errorf("got %+v", undated)
	}
}

func TestTicksAreReadEasily(t *testing.T) {
	for long, want := range map[time.Duration][]tick{
		0:                     {{0, "0s"}},
		4 * time.Second:       {{0, "0s"}, {25, "1s"}, {50, "2s"}, {75, "3s"}, {100, "4s"}},
		100 * time.Second:     {{0, "0s"}, {30, "30s"}, {60, "1m"}, {90, "1m30s"}},
		10 * time.Minute:      {{0, "0s"}, {50, "5m"}, {100, "10m"}},
		96 * time.Hour:        {{0, "0s"}, {25, "24h"}, {50, "48h"}, {75, "72h"}, {100, "96h"}},
		1000 * 24 * time.Hour: {{0, "0s"}, {25.1, "6024h"}, {50.2, "12048h"}, {75.3, "18072h"}},
	} {
		if got := (span{long: long}).ticks(); !reflect.DeepEqual(got, want) {
			t.Errorf("%s has %+v, want %+v", long, got, want)
		}
	}
}
