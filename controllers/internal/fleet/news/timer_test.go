package news

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestAFailureIsToldOnceItLasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []string
		timer := NewTimer(time.Minute, func(reason string) { told = append(told, reason) })
		timer.Failing("no answer")
		time.Sleep(time.Minute - time.Second)
		synctest.Wait()
		timer.Current()
		if len(told) > 0 {
			t.Errorf("what passed in time is told as %q", told)
		}
		timer.Failing("no answer")
		timer.Failing("forbidden")
		time.Sleep(time.Minute)
		synctest.Wait()
		timer.Failing("forbidden")
		timer.Failing("gone")
		timer.Current()
		timer.Current()
		if want := []string{"forbidden", "gone", ""}; !slices.Equal(told, want) {
			t.Errorf("told are %q, not %q", told, want)
		}
	})
}

func TestATimerThatWasStoppedTellsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timer := NewTimer(time.Minute, func(reason string) { t.Errorf("told is %q", reason) })
		timer.Failing("no answer")
		timer.Stop()
		time.Sleep(2 * time.Minute)
		synctest.Wait()
	})
}
