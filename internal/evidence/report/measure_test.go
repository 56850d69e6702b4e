package report

import (
	"math"
	"reflect"
	"testing"
	"time"
)

func TestAMeasurementIsComparedWithItsObjective(t *testing.T) {
	for name, row := range map[string]struct {
		got, objective, result string
		want                   measure
	}{
		"met":                  {"15m0s", "1h0m0s", "Passed", measure{Got: "15m", Objective: "1h", Mark: good("met"), Text: "The measurement is 45m below it.", Bar: &bar{Got: 25, Objective: 100}}},
		"just met":             {"1h0m0s", "1h0m0s", "Passed", measure{Got: "1h", Objective: "1h", Mark: good("met"), Text: "The measurement is 0s below it.", Bar: &bar{Got: 100, Objective: 100}}},
		"missed":               {"2h0m0s", "1h0m0s", "Failed", measure{Got: "2h", Objective: "1h", Mark: bad("missed"), Text: "The measurement is 1h above it.", Bar: &bar{Got: 100, Objective: 50}}},
		"no time at all":       {"0s", "0s", "Passed", measure{Got: "0s", Objective: "0s", Mark: good("met"), Text: "The measurement is 0s below it.", Bar: &bar{Objective: 100}}},
		"an objective of zero": {"5s", "0s", "Failed", measure{Got: "5s", Objective: "0s", Mark: bad("missed"), Text: "The measurement is 5s above it.", Bar: &bar{Got: 100}}},
		"short, and worthless": {"5s", "1h0m0s", "", measure{Got: "5s", Objective: "1h", Mark: unclear("not checked"), Text: "The drill did not get as far as checking this.", Bar: &bar{Got: 100 * 5.0 / 3600, Objective: 100}}},
		"no objective":         {"5s", "", "", measure{Got: "5s", Objective: "none is set", Mark: unclear("not checked"), Text: "There is no objective to compare it with.", Bar: &bar{Got: 100, Unlimited: true}}},
		"no measurement":       {"", "1h0m0s", "", measure{Got: "not measured", Objective: "1h", Mark: unclear("not checked"), Text: "There is no measurement to compare."}},
		"a negative one":       {"-5s", "1h0m0s", "Passed", measure{Got: `"-5s", which is no duration`, Objective: "1h", Mark: good("met"), Text: "There is no measurement to compare."}},
		"no number":            {"long", "short", "", measure{Got: `"long", which is no duration`, Objective: `"short", which is no duration`, Mark: unclear("not checked"), Text: "There is no measurement to compare."}},
		"beyond all measure":   {"99999999999h", "1h0m0s", "", measure{Got: `"99999999999h", which is no duration`, Objective: "1h", Mark: unclear("not checked"), Text: "There is no measurement to compare."}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := measureOf("", "", row.got, row.objective, row.result); !reflect.DeepEqual(got, row.want) {
				t.Errorf("got %+v %+v, want %+v %+v", got, got.Bar, row.want, row.want.Bar)
			}
		})
	}
}

func TestDurationsAreBrief(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 10 * time.Second: "10s", 10 * time.Minute: "10m", time.Minute + time.Second: "1m1s", time.Hour: "1h", 10 * time.Hour: "10h",
		26*time.Hour + 10*time.Minute: "26h10m", time.Hour + 5*time.Second: "1h0m5s", 100 * time.Millisecond: "100ms",
	} {
		if got := brief(d); got != want {
			t.Errorf("%s is %s, want %s", d, got, want)
		}
	}
}

func TestAPartIsFromNothingToAll(t *testing.T) {
	for _, row := range []struct {
		part, whole time.Duration
		want        float64
	}{{1, 4, 25}, {0, 4, 0}, {-1, 4, 0}, {5, 4, 100}, {1, 0, 0}, {1, -4, 0}, {math.MaxInt64, math.MaxInt64, 100}, {math.MinInt64, math.MaxInt64, 0}} {
		if got := percent(row.part, row.whole); got != row.want {
			t.Errorf("%d of %d is %v, want %v", row.part, row.whole, got, row.want)
		}
	}
}

func TestAWordThatIsNotKnownIsUnclear(t *testing.T) {
	for word, want := range map[string]mark{
		"Passed": good("Passed"), "Succeeded": good("Succeeded"), "Failed": bad("Failed"), "TimedOut": bad("TimedOut"),
		"NotChecked": unclear("not checked"), "Inconclusive": unclear("Inconclusive"), "Cancelled": unclear("Cancelled"), "": unclear("not known"), "passed": unclear("passed"),
	} {
		if got := markOf(word); got != want {
			t.Errorf("%q is %+v, want %+v", word, got, want)
		}
	}
}
