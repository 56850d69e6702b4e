package schedule

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/robfig/cron/v3"
)

func parse(t testing.TB, expression, zone string) Recurrence {
	t.Helper()
	r, err := Parse(expression, zone)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

var winter = time.Date(2026, time.January, 15, 0, 0, 0, 0, time.UTC)

func TestExpressionsAreShiftedIntoUTC(t *testing.T) {
	for _, test := range []struct {
		expression, zone string
		offset           time.Duration
		want             string
	}{
		{"0 2 * * *", "", 0, "0 2 * * *"},
		{"0 2 * * *", "", 95 * time.Minute, "35 3 * * *"},
		{"30 23 * * *", "", time.Hour, "30 0 * * *"},
		{"0 2 * * *", "Europe/Berlin", 0, "0 1 * * *"},
		{"0 0 * * 1-5", "Europe/Berlin", 0, "0 23 * * 0,1,2,3,4"},
		{"0 23 * * 6", "America/New_York", 0, "0 4 * * 0"},
		{"0 */6 * * *", "", 7 * time.Minute, "7 0,6,12,18 * * *"},
		{"0 */6 * * *", "", 3 * time.Hour, "0 3,9,15,21 * * *"},
		{"*/15 * * * *", "", 7 * time.Minute, "7,22,37,52 * * * *"},
		{"* * * * *", "Asia/Kathmandu", time.Minute, "* * * * *"},
		{"0 2 1 * *", "", 3 * time.Hour, "0 5 1 * *"},
		{"@weekly", "Asia/Kathmandu", 0, "15 18 * * 6"},
		{"0 12 * jan,jul *", "", 0, "0 12 * 1,7 *"},
	} {
		expression, _, err := parse(t, test.expression, test.zone).InUTC(test.offset, winter)
		if err != nil || expression != test.want {
			t.Errorf("%q in %q, %s later, is %q (%v), not %q", test.expression, test.zone, test.offset, expression, err, test.want)
		}
	}
}

func TestAnExpressionHoldsUntilTheClockIsSet(t *testing.T) {
	berlin := parse(t, "0 2 * * *", "Europe/Berlin")
	expression, until, err := berlin.InUTC(0, winter)
	if want := time.Date(2026, time.March, 29, 1, 0, 0, 0, time.UTC); err != nil || expression != "0 1 * * *" || !until.Equal(want) {
		t.Errorf("%q until %s (%v), not until %s", expression, until, err, want)
	}
	if expression, _, err := berlin.InUTC(0, until); err != nil || expression != "0 0 * * *" {
		t.Errorf("then %q (%v)", expression, err)
	}
	if _, until, _ := parse(t, "0 2 * * *", "").InUTC(0, winter); !until.IsZero() {
		t.Errorf("in UTC it holds until %s", until)
	}
}

func TestWhatCannotBeShiftedIsRefused(t *testing.T) {
	for _, test := range []struct {
		expression, zone string
		spread           time.Duration
		want             string
	}{
		{"0 2 1 * *", "", 22 * time.Hour, ""},
		{"0 2 1 * *", "", 22*time.Hour + time.Minute, "day of the month"},
		{"0 2 1 * *", "Asia/Tokyo", 0, "day of the month"},
		{"0 12,20 * * 1", "", 4 * time.Hour, ""},
		{"0 12,20 * * 1", "", 5 * time.Hour, "another day"},
		{"0,30 2 * * *", "", 30 * time.Minute, ""},
		{"0,30 2 * * *", "", time.Hour, "one minute, or all hours"},
		{"0,45 2 * * *", "Asia/Kathmandu", 0, "one minute, or all hours"},
		{"*/5 * * * *", "", 24 * time.Hour, ""},
		{"0 0 * * 1", "Europe/Berlin", time.Hour, ""},
	} {
		err := parse(t, test.expression, test.zone).CheckSpread(test.spread, winter)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%q in %q over %s: %v, not %q", test.expression, test.zone, test.spread, err, test.want)
		}
	}
}

// TestAShiftedExpressionComesLaterByTheOffset compares what Velero's form gives with the times themselves, for random
// expressions and offsets.
func TestAShiftedExpressionComesLaterByTheOffset(t *testing.T) {
	shifted := 0
	for seed := range uint64(3000) {
		random := rand.New(rand.NewPCG(seed, 1))
		expression := randomExpression(random)
		zone := []string{"", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Pacific/Apia"}[random.IntN(5)]
		offset := time.Duration(random.IntN(24*60)) * time.Minute
		r := parse(t, expression, zone)
		text, _, err := r.InUTC(offset, winter)
		if err != nil {
			continue
		}
		shifted++
		utc, err := cron.ParseStandard("CRON_TZ=UTC " + text)
		if err != nil {
			t.Fatalf("%q became %q: %v", expression, text, err)
		}
		at, came := winter, winter.Add(offset)
		for range 5 {
			next, ok := r.After(at)
			if !ok || next.After(winter.AddDate(0, 1, 0)) {
				break
			}
			at, came = next, utc.Next(came)
			if !came.Equal(next.Add(offset)) {
				t.Fatalf("seed %d: %q in %q, %s later, is %q: it comes at %s, not at %s", seed, expression, zone, offset, text, came, next.Add(offset))
			}
		}
	}
	if shifted < 500 {
		t.Errorf("only %d of the random expressions could be shifted", shifted)
	}
}

func randomExpression(random *rand.Rand) string {
	pick := func(choices ...string) string { return choices[random.IntN(len(choices))] }
	return fmt.Sprintf("%s %s %s %s %s", pick("0", "17", "59", "0,30", "*/20"), pick("0", "2", "23", "*", "*/6", "1,13"),
		pick("*", "*", "*", "1", "15,31"), pick("*", "*", "1"), pick("*", "*", "0", "1-5", "6"))
}

// TestOffsetsAreSpreadEvenly measures the largest distance between how the starts of a thousand clusters are spread and how
// an even spread would be (Kolmogorov-Smirnov).
func TestOffsetsAreSpreadEvenly(t *testing.T) {
	const clusters, spread = 1000, 4 * time.Hour
	var offsets []float64
	for i := range clusters {
		offset := Offset(fmt.Sprintf("nightly/acme-%d/cluster-%d", i%50, i/50), spread)
		if offset < 0 || offset >= spread || offset%time.Minute != 0 {
			t.Fatalf("an offset is %s", offset)
		}
		offsets = append(offsets, float64(offset)/float64(spread))
	}
	slices.Sort(offsets)
	farthest := 0.0
	for i, offset := range offsets {
		farthest = max(farthest, math.Abs(offset-float64(i)/clusters), math.Abs(offset-float64(i+1)/clusters))
	}
	if farthest > 0.05 {
		t.Errorf("the starts are off an even spread by up to %.1f %%", 100*farthest)
	}
	if Offset("a", 0) != 0 || Offset("nightly/acme/prod", spread) != 3*time.Hour+27*time.Minute {
		t.Errorf("an offset is not the same for ever, but %s", Offset("nightly/acme/prod", spread))
	}
}
