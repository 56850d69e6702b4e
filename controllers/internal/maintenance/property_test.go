package maintenance

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

// days on which something happens to the clocks, and one on which nothing does.
var days = []struct {
	zone string
	day  time.Time
}{
	{"", time.Date(2026, time.February, 27, 0, 0, 0, 0, time.UTC)},
	{"Europe/Berlin", time.Date(2026, time.March, 28, 0, 0, 0, 0, time.UTC)},
	{"Europe/Berlin", time.Date(2026, time.October, 24, 0, 0, 0, 0, time.UTC)},
	{"America/New_York", time.Date(2026, time.November, 1, 0, 0, 0, 0, time.UTC)},
	{"Australia/Lord_Howe", time.Date(2026, time.April, 4, 0, 0, 0, 0, time.UTC)},  // By half an hour.
	{"America/Sao_Paulo", time.Date(2018, time.November, 3, 0, 0, 0, 0, time.UTC)}, // At midnight.
	{"Pacific/Apia", time.Date(2011, time.December, 29, 0, 0, 0, 0, time.UTC)},     // By a day.
}

// drawn is a random window, as sets that need no parser.
type drawn struct {
	minutes, hours, weekdays, days []int
	duration                       time.Duration
}

func draw(random *rand.Rand) drawn {
	some := func(count, below, from int) []int {
		var set []int
		for range count {
			set = append(set, from+random.IntN(below))
		}
		return set
	}
	d := drawn{minutes: some(1+random.IntN(3), 60, 0), hours: some(1+random.IntN(4), 24, 0)}
	if random.IntN(2) == 0 {
		d.weekdays = some(3, 7, 0)
	}
	if random.IntN(3) == 0 {
		d.days = some(6, 31, 1)
	}
	d.duration = time.Duration(1+random.IntN(1+random.IntN(600))) * time.Minute
	return d
}

func (d drawn) declared(zone string) metav1alpha1.RecurringWindow {
	list := func(set []int) string {
		if set == nil {
			return "*"
		}
		var words []string
		for _, one := range set {
			words = append(words, strconv.Itoa(one))
		}
		return strings.Join(words, ",")
	}
	return declared(fmt.Sprintf("%s %s %s * %s", list(d.minutes), list(d.hours), list(d.days), list(d.weekdays)), d.duration, zone)
}

// matches follows cron: of a day of the month and a day of the week that are both given, either will do.
func (d drawn) matches(reading time.Time) bool {
	byDay, byWeekday := slices.Contains(d.days, reading.Day()), slices.Contains(d.weekdays, int(reading.Weekday()))
	isDay := byDay || byWeekday || d.days == nil && d.weekdays == nil
	return isDay && slices.Contains(d.minutes, reading.Minute()) && slices.Contains(d.hours, reading.Hour())
}

// minutesOpen goes through the minutes from one time to another with an eye on the clock. A window opens
// when the clock shows a reading of it, or one behind it, for the first time.
func minutesOpen(windows []drawn, zone *time.Location, from, to time.Time) map[time.Time]bool {
	open := map[time.Time]bool{}
	read := func(t time.Time) time.Time {
		local := t.In(zone)
		return time.Date(local.Year(), local.Month(), local.Day(), local.Hour(), local.Minute(), 0, 0, time.UTC)
	}
	shown := read(from)
	for now := from; now.Before(to); now = now.Add(time.Minute) {
		for ; shown.Before(read(now)); shown = shown.Add(time.Minute) {
			for _, d := range windows {
				if !d.matches(shown.Add(time.Minute)) {
					continue
				}
				for minute := now; minute.Before(now.Add(d.duration)); minute = minute.Add(time.Minute) {
					open[minute] = true
				}
			}
		}
	}
	return open
}

func TestCalendarAgreesWithAnEyeOnTheClock(t *testing.T) {
	const longest = 11 * time.Hour
	for seed := range uint64(35) {
		random := rand.New(rand.NewPCG(seed, 0))
		day := days[int(seed)%len(days)]
		zone, err := time.LoadLocation(day.zone)
		if err != nil {
			t.Fatal(err)
		}
		var windows []drawn
		var declared []metav1alpha1.RecurringWindow
		for range 1 + random.IntN(3) {
			d := draw(random)
			windows, declared = append(windows, d), append(declared, d.declared(day.zone))
		}
		calendar := calendarOf(t, declared...)
		until := day.day.Add(3 * 24 * time.Hour)
		open := minutesOpen(windows, zone, day.day.Add(-longest), until)
		for now := day.day; now.Before(until); now = now.Add(time.Minute) {
			if is, _ := calendar.At(now.Add(time.Duration(random.Int64N(int64(time.Minute))))); is != open[now] {
				t.Fatalf("seed %d, %+v: at %s (%s) open is %v", seed, declared, now, now.In(zone), is)
			}
		}
		checkSpans(t, calendar, open, day.day, until)
	}
}

// checkSpans compares spans that end before a time.
func checkSpans(t *testing.T, calendar Calendar, open map[time.Time]bool, from, to time.Time) {
	t.Helper()
	edge := func(minute time.Time, opens bool) time.Time {
		for minute.Before(to) && open[minute] != opens {
			minute = minute.Add(time.Minute)
		}
		return minute
	}
	for now := from; now.Before(to); now = now.Add(7 * time.Minute) {
		closes := edge(now, false)
		if is, until := calendar.At(now); is && closes.Before(to) && !until.Equal(closes) {
			t.Fatalf("at %s it is open until %s, and not until %s", now, until, closes)
		}
		opens := edge(closes, true)
		closesAgain := edge(opens, false)
		start, end, ok := calendar.Next(now)
		if ok && !start.After(now) {
			t.Fatalf("next after %s is %s", now, start)
		}
		if closesAgain.Before(to) && (!ok || !start.Equal(opens) || !end.Equal(closesAgain)) {
			t.Fatalf("next after %s is from %s to %s, and not from %s to %s", now, start, end, opens, closesAgain)
		}
	}
}

func TestSpansFollowEachOtherWithoutTouching(t *testing.T) {
	for seed := range uint64(100) {
		random := rand.New(rand.NewPCG(seed, 1))
		zone := days[int(seed)%len(days)].zone
		calendar := calendarOf(t, draw(random).declared(zone), draw(random).declared(zone))
		now := days[int(seed)%len(days)].day
		for range 20 {
			start, end, ok := calendar.Next(now)
			if !ok {
				break
			}
			if open, until := calendar.At(start); !start.After(now) || !open || !until.Equal(end) {
				t.Fatalf("seed %d: from %s on, open %v until %s, and not %s", seed, start, open, until, end)
			}
			for what, closed := range map[string]time.Time{"before it opens": start.Add(-time.Nanosecond), "as it closes": end} {
				if open, _ := calendar.At(closed); open {
					t.Fatalf("seed %d: open %s, at %s", seed, what, closed)
				}
			}
			now = end
		}
	}
}
