package maintenance

import (
	"testing"
	"time"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

func calendarOf(t testing.TB, windows ...metav1alpha1.RecurringWindow) Calendar {
	t.Helper()
	calendar, err := Parse(field, windows)
	if err != nil {
		t.Fatal(err)
	}
	return calendar
}

func at(t testing.TB, text string) time.Time {
	t.Helper()
	parsed, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

func TestWithoutWindowsItIsAlwaysOpen(t *testing.T) {
	now := at(t, "2026-11-21T03:00:00Z")
	calendar := calendarOf(t)
	if open, until := calendar.At(now); !calendar.Empty() || !open || !until.IsZero() {
		t.Errorf("open: %v, until %s", open, until)
	}
	if start, _, ok := calendar.Next(now); ok {
		t.Errorf("it opens at %s", start)
	}
}

func TestSpansOpenAndClose(t *testing.T) {
	const never = ""
	nightly := declared("0 22 * * *", 4*time.Hour, "")
	tests := map[string]struct {
		windows             []metav1alpha1.RecurringWindow
		now                 string
		until, start, close string
	}{
		"before": {
			[]metav1alpha1.RecurringWindow{nightly},
			"2026-11-21T21:59:59Z", never, "2026-11-21T22:00:00Z", "2026-11-22T02:00:00Z",
		},
		"as it opens": {
			[]metav1alpha1.RecurringWindow{nightly},
			"2026-11-21T22:00:00Z", "2026-11-22T02:00:00Z", "2026-11-22T22:00:00Z", "2026-11-23T02:00:00Z",
		},
		"a moment before it closes": {
			[]metav1alpha1.RecurringWindow{nightly},
			"2026-11-22T01:59:59.999Z", "2026-11-22T02:00:00Z", "2026-11-22T22:00:00Z", "2026-11-23T02:00:00Z",
		},
		"as it closes": {
			[]metav1alpha1.RecurringWindow{nightly},
			"2026-11-22T02:00:00Z", never, "2026-11-22T22:00:00Z", "2026-11-23T02:00:00Z",
		},
		"windows that overlap are one": {
			[]metav1alpha1.RecurringWindow{nightly, declared("30 1 * * *", time.Hour, "")},
			"2026-11-21T23:00:00Z", "2026-11-22T02:30:00Z", "2026-11-22T22:00:00Z", "2026-11-23T02:30:00Z",
		},
		"windows that touch are one": {
			[]metav1alpha1.RecurringWindow{declared("0 2 * * *", time.Hour, ""), nightly},
			"2026-11-21T20:00:00Z", never, "2026-11-21T22:00:00Z", "2026-11-22T03:00:00Z",
		},
		"a window overlaps with itself": {
			[]metav1alpha1.RecurringWindow{declared("0 1-3 * * 6", 90*time.Minute, "")},
			"2026-11-21T01:10:00Z", "2026-11-21T04:30:00Z", "2026-11-28T01:00:00Z", "2026-11-28T04:30:00Z",
		},
		"one without an end": {
			[]metav1alpha1.RecurringWindow{declared("@daily", 24*time.Hour, "")},
			"2026-11-21T01:00:00Z", "2026-12-22T01:00:00Z", never, never,
		},
		"one of too many windows": {
			[]metav1alpha1.RecurringWindow{declared("* * * * *", time.Minute, "")},
			"2026-11-21T00:00:30Z", "2026-11-21T16:41:00Z", never, never,
		},
		"a day that comes every four years": {
			[]metav1alpha1.RecurringWindow{declared("0 3 29 2 *", time.Hour, "")},
			"2024-02-29T03:30:00Z", "2024-02-29T04:00:00Z", "2028-02-29T03:00:00Z", "2028-02-29T04:00:00Z",
		},
		"midnight elsewhere": {
			[]metav1alpha1.RecurringWindow{declared("@daily", time.Hour, "Asia/Kathmandu")},
			"2026-11-21T12:00:00Z", never, "2026-11-21T18:15:00Z", "2026-11-21T19:15:00Z",
		},
		"the day on which the clock is set forward over it": {
			[]metav1alpha1.RecurringWindow{declared("30 2 * * *", time.Hour, "Europe/Berlin")},
			"2026-03-29T00:00:00Z", never, "2026-03-29T01:00:00Z", "2026-03-29T02:00:00Z",
		},
		"the clock is set forward while it is open": {
			[]metav1alpha1.RecurringWindow{declared("0 1 * * *", 2*time.Hour, "Europe/Berlin")},
			"2026-03-29T00:30:00Z", "2026-03-29T02:00:00Z", "2026-03-29T23:00:00Z", "2026-03-30T01:00:00Z",
		},
		"the day on which the clock is set back behind it": {
			[]metav1alpha1.RecurringWindow{declared("30 2 * * *", 10*time.Minute, "Europe/Berlin")},
			"2026-10-25T00:35:00Z", "2026-10-25T00:40:00Z", "2026-10-26T01:30:00Z", "2026-10-26T01:40:00Z",
		},
		"the second time that the clock shows it": {
			[]metav1alpha1.RecurringWindow{declared("30 2 * * *", 10*time.Minute, "Europe/Berlin")},
			"2026-10-25T01:35:00Z", never, "2026-10-26T01:30:00Z", "2026-10-26T01:40:00Z",
		},
		"a day that a time zone left out": {
			[]metav1alpha1.RecurringWindow{declared("0 12 30 * *", time.Hour, "Pacific/Apia")},
			"2011-12-30T00:00:00Z", never, "2011-12-30T10:00:00Z", "2011-12-30T11:00:00Z",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			calendar := calendarOf(t, test.windows...)
			open, until := calendar.At(at(t, test.now))
			if open != (test.until != never) || open && !until.Equal(at(t, test.until)) {
				t.Errorf("open: %v until %s, and not until %q", open, until, test.until)
			}
			start, end, ok := calendar.Next(at(t, test.now))
			if ok != (test.start != never) || ok && (!start.Equal(at(t, test.start)) || !end.Equal(at(t, test.close))) {
				t.Errorf("next: %v from %s to %s, and not from %q to %q", ok, start, end, test.start, test.close)
			}
		})
	}
}

func BenchmarkAtOfWindowsForEveryMinute(b *testing.B) {
	calendar := calendarOf(b, declared("* * * * *", time.Minute, "Europe/Berlin"))
	for b.Loop() {
		calendar.At(time.Unix(1_800_000_000, 0))
	}
}

func TestASpanOpenedWithTheFirstOfItsWindows(t *testing.T) {
	nightly := declared("0 22 * * *", 4*time.Hour, "")
	for name, test := range map[string]struct {
		windows     []metav1alpha1.RecurringWindow
		now, opened string
	}{
		"closed":                     {[]metav1alpha1.RecurringWindow{nightly}, "2026-11-21T12:00:00Z", "2026-11-21T12:00:00Z"},
		"as it opens":                {[]metav1alpha1.RecurringWindow{nightly}, "2026-11-21T22:00:00Z", "2026-11-21T22:00:00Z"},
		"before it closes":           {[]metav1alpha1.RecurringWindow{nightly}, "2026-11-22T01:59:59Z", "2026-11-21T22:00:00Z"},
		"as it closes":               {[]metav1alpha1.RecurringWindow{nightly}, "2026-11-22T02:00:00Z", "2026-11-22T02:00:00Z"},
		"after one that overlaps":    {[]metav1alpha1.RecurringWindow{nightly, declared("0 1 * * *", 3*time.Hour, "")}, "2026-11-22T03:00:00Z", "2026-11-21T22:00:00Z"},
		"after one that touches":     {[]metav1alpha1.RecurringWindow{nightly, declared("0 2 * * *", time.Hour, "")}, "2026-11-22T02:30:00Z", "2026-11-21T22:00:00Z"},
		"for longer than it looks":   {[]metav1alpha1.RecurringWindow{declared("@hourly", time.Hour, "")}, "2026-11-22T02:30:00Z", "2026-10-22T02:30:00Z"},
		"after one that was shorter": {[]metav1alpha1.RecurringWindow{nightly, declared("0 23 * * *", 2*time.Hour, "")}, "2026-11-22T01:30:00Z", "2026-11-21T22:00:00Z"},
	} {
		if got, want := calendarOf(t, test.windows...).Opened(at(t, test.now)), at(t, test.opened); !got.Equal(want) {
			t.Errorf("%s: at %s it opened at %s, not %s", name, test.now, got, want)
		}
	}
}
