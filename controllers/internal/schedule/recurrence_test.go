package schedule

import (
	"math/rand/v2"
	"testing"
	"time"
)

// Latest is compared with going through all times.
func TestTheLatestTime(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // A test that is the same each time.
	from := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for _, expression := range []string{"* * * * *", "*/7 2-5 * * *", "0 2 * * *", "30 23 * * 1", "0 0 1 * *", "0 0 29 2 *", "15 2 29 3 *"} {
		r, refused := Parse(expression, "Europe/Berlin")
		if refused != nil {
			t.Fatal(refused)
		}
		for range 50 {
			after := from.Add(time.Duration(random.Int64N(int64(60 * 24 * time.Hour))))
			until := after.Add(time.Duration(random.Int64N(int64(4 * 24 * time.Hour))))
			var want time.Time
			for at, found := r.After(after); found && !at.After(until); at, found = r.After(at) {
				want = at
			}
			if got, found := r.Latest(after, until); !got.Equal(want) || found == want.IsZero() {
				t.Errorf("%s after %s until %s: %s, not %s", expression, after, until, got, want)
			}
		}
	}
}

func TestTheLatestTimeIsFoundAfterYears(t *testing.T) {
	r, _ := Parse("* * * * *", "")
	until := time.Date(2026, 11, 23, 12, 0, 30, 0, time.UTC)
	if got, found := r.Latest(until.AddDate(-5, 0, 0), until); !found || !got.Equal(until.Truncate(time.Minute)) {
		t.Errorf("got %s", got)
	}
}
