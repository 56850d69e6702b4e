package bounded

import (
	"errors"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

// TestAClusterThatExceedsALimitSendsNothingLargeForAWhile: what is small is read all the time.
func TestAClusterThatExceedsALimitSendsNothingLargeForAWhile(t *testing.T) {
	t.Parallel()
	clock := clocktesting.NewFakePassiveClock(time.Now())
	turn := newTurn(clock)
	list := func(size int) error {
		_, err := readList(strings.NewReader(`{"metadata":{"resourceVersion":"7"},"items":["`+strings.Repeat("x", size)+`"]}`), turn, nil,
			func([]byte) error { return nil })
		return err
	}
	var limit *LimitError
	for _, pause := range []time.Duration{firstPause, 2 * firstPause, 4 * firstPause} {
		if err := list(maxFrame); !errors.As(err, &limit) {
			t.Fatalf("an object that is too large: %v", err)
		}
		if err := list(2 * largeRead); err == nil || !strings.Contains(err.Error(), "for "+pause.String()) {
			t.Errorf("within the pause of %s: %v", pause, err)
		}
		if err := list(largeRead / 2); err != nil {
			t.Errorf("a small object within the pause: %v", err)
		}
		clock.SetTime(clock.Now().Add(pause))
		if err := list(2 * largeRead); err != nil {
			t.Errorf("after the pause of %s: %v", pause, err)
		}
	}
	clock.SetTime(clock.Now().Add(pardonAfter + time.Second))
	if err := list(maxFrame); !errors.As(err, &limit) {
		t.Fatal(err)
	}
	clock.SetTime(clock.Now().Add(firstPause))
	if err := list(2 * largeRead); err != nil {
		t.Errorf("a server that was sound for long is not paused for longer than %s: %v", firstPause, err)
	}
}
