package schedule

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

const (
	minutesADay = 24 * 60
	// starred is the bit with which cron tells "*" from a list of all values.
	starred = 1 << 63
)

// Offset is how much later than others the one with this key begins: whole minutes from 0 up to, and without, the spread.
// Keys are spread evenly, and a key has the same offset for ever.
func Offset(key string, spread time.Duration) time.Duration {
	sum := sha256.Sum256([]byte(key))
	high, _ := bits.Mul64(binary.BigEndian.Uint64(sum[:]), uint64(spread/time.Minute))
	return time.Duration(high) * time.Minute
}

// InUTC returns the expression of what begins an offset of whole minutes after the times of r, on a clock that shows UTC,
// and until when that holds: the clock of a time zone is set from time to time. The time is zero if it never is again.
//
// Not everything can be shifted: "30 23 1 * *" an hour later is the second day of a month, and with a smaller offset the
// first. The error says so.
func (r Recurrence) InUTC(offset time.Duration, at time.Time) (expression string, until time.Time, err error) {
	local := at.In(r.zone)
	_, ahead := local.Zone()
	_, until = local.ZoneBounds()
	if !until.IsZero() {
		until = until.UTC()
	}
	fields, err := shift(r.times, int(offset/time.Minute)-ahead/60)
	if err != nil {
		return "", time.Time{}, err
	}
	return fields.String(), until, nil
}

// CheckSpread returns an error if the times of r cannot be shifted by every offset up to the spread, at whatever the clock
// of the time zone is set to in the five years from a time on.
func (r Recurrence) CheckSpread(spread time.Duration, from time.Time) error {
	for at := from; at.Before(from.AddDate(5, 0, 0)); {
		for offset := time.Duration(0); offset == 0 || offset < spread; offset += time.Minute {
			if _, _, err := r.InUTC(offset, at); err != nil {
				return err
			}
		}
		_, set := at.In(r.zone).ZoneBounds()
		if set.IsZero() {
			return nil
		}
		at = set
	}
	return nil
}

// fields of a cron expression. nil is any value.
type fields struct{ minutes, hours, days, months, weekdays []int }

func fieldsOf(times *cron.SpecSchedule) fields {
	return fields{
		minutes: values(times.Minute&^starred, 0, 59), hours: values(times.Hour&^starred, 0, 23),
		days: values(times.Dom, 1, 31), months: values(times.Month, 1, 12), weekdays: values(times.Dow, 0, 6),
	}
}

// values are the bits that are set; nil for any.
func values(set uint64, first, last int) (list []int) {
	if set&starred != 0 {
		return nil
	}
	for value := first; value <= last; value++ {
		if set&(1<<value) != 0 {
			list = append(list, value)
		}
	}
	return list
}

// String writes the five fields.
func (f fields) String() string {
	text := make([]string, 0, 5)
	for _, list := range [][]int{f.minutes, f.hours, f.days, f.months, f.weekdays} {
		if list == nil {
			text = append(text, "*")
			continue
		}
		numbers := make([]string, 0, len(list))
		for _, value := range list {
			numbers = append(numbers, strconv.Itoa(value))
		}
		text = append(text, strings.Join(numbers, ","))
	}
	return strings.Join(text, " ")
}

// shift moves all times of day by some minutes, which may be negative, and the days that go with them.
func shift(times *cron.SpecSchedule, by int) (fields, error) {
	f := fieldsOf(times)
	moved := map[int]bool{}
	days := map[int]bool{}
	for _, hour := range f.hours {
		for _, minute := range f.minutes {
			at := hour*60 + minute + by
			day := floorDiv(at, minutesADay)
			days[day] = true
			moved[at-day*minutesADay] = true
		}
	}
	shifted := fields{days: f.days, months: f.months}
	var err error
	if shifted.weekdays, err = shiftDays(f, days); err != nil {
		return fields{}, err
	}
	if shifted.minutes, shifted.hours, err = split(moved); err != nil {
		return fields{}, err
	}
	return shifted, nil
}

// shiftDays returns the days of the week after all times moved by so many days.
func shiftDays(f fields, by map[int]bool) ([]int, error) {
	if f.days == nil && f.months == nil && f.weekdays == nil || len(by) == 1 && by[0] {
		return f.weekdays, nil
	}
	if f.days != nil || f.months != nil {
		return nil, errors.New("some clusters would begin on another day, and which day of the month that is differs: " +
			"let it begin earlier, shorten the spread, or choose days of the week")
	}
	if len(by) > 1 {
		return nil, errors.New("of its hours, some would be on another day in some clusters: " +
			"shorten the spread, leave out hours, or choose all days of the week")
	}
	var weekdays []int
	for days := range by {
		for _, weekday := range f.weekdays {
			weekdays = append(weekdays, ((weekday+days)%7+7)%7)
		}
	}
	slices.Sort(weekdays)
	return weekdays, nil
}

// split returns the minutes and hours of times of day, in minutes, if each minute comes in each hour.
func split(times map[int]bool) (minutes, hours []int, err error) {
	for at := range times {
		minutes, hours = append(minutes, at%60), append(hours, at/60)
	}
	minutes, hours = unique(minutes), unique(hours)
	if len(minutes)*len(hours) != len(times) {
		return nil, nil, fmt.Errorf("its %d minutes would be in different hours in some clusters: choose one minute, or all hours", len(minutes))
	}
	if len(minutes) == 60 {
		minutes = nil
	}
	if len(hours) == 24 {
		hours = nil
	}
	return minutes, hours, nil
}

func unique(list []int) []int {
	slices.Sort(list)
	return slices.Compact(list)
}

func floorDiv(a, b int) int {
	if a < 0 {
		return (a - b + 1) / b
	}
	return a / b
}
