package schedule

import (
	"testing"
	"time"
)

const day = 24 * time.Hour

func TestTheLongestInterval(t *testing.T) {
	for expression, want := range map[string]time.Duration{
		"* * * * *":        time.Minute,
		"*/7 * * * *":      7 * time.Minute,
		"@hourly":          time.Hour,
		"0 2 * * *":        day,
		"0 2,4,14 * * *":   12 * time.Hour,
		"0 1,2,3 * * *":    22 * time.Hour,
		"30 23 * * 1":      7 * day,
		"0 2 * * 1,2":      6 * day,
		"* * * * 0":        6*day + time.Minute,
		"* * * 1 *":        335*day + time.Minute, // From February to December of a leap year.
		"0 0 1 * *":        31 * day,
		"0 0 31 1,2,3 *":   306 * day,
		"0 0 29 2 *":       1461 * day,
		"*/5 10-12 29 2 *": 1461*day - 2*time.Hour - 55*time.Minute,
	} {
		r, refused := Parse(expression, "Europe/Berlin")
		if refused != nil {
			t.Fatal(refused)
		}
		if got := r.LongestInterval(); got != want {
			t.Errorf("%s: %s, not %s", expression, got, want)
		}
	}
}

func TestTheSpanOfSoManyTimes(t *testing.T) {
	for expression, want := range map[string]time.Duration{
		"* * * * *": 400 * time.Minute, "@daily": 400 * day, "0 2,14 * * *": 200 * day, "@weekly": 2800 * day,
	} {
		r, refused := Parse(expression, "")
		if refused != nil {
			t.Fatal(refused)
		}
		if got := r.Span(400); got != want {
			t.Errorf("%s: %s, not %s", expression, got, want)
		}
	}
	// 1,600 years are more than a Duration has.
	r, _ := Parse("0 0 29 2 *", "")
	if got := r.Span(400); got < 290*365*day {
		t.Errorf("once in four years: %s", got)
	}
}
