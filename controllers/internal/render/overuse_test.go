package render

import (
	"testing"
	"time"
)

func TestATenantPaysBackWhatItsRenderingsTookTooMuch(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	o := newOveruse()
	check := func(after time.Duration, want bool) {
		t.Helper()
		if got := o.isTooMuch("acme", start.Add(after)); got != want {
			t.Errorf("after %s it is too much: %t, want %t", after, got, want)
		}
	}
	check(0, false)
	o.add("acme", tolerated, start)
	check(0, false)
	o.add("acme", 100*time.Millisecond, start)
	check(0, true)
	check(7*time.Second, false)
	// One after the other, however many: ten minutes.
	for range 100 {
		o.add("acme", 9500*time.Millisecond, start)
	}
	check(9*time.Minute+59*time.Second, true)
	check(10*time.Minute+time.Second, false)
	if o.isTooMuch("globex", start) {
		t.Error("it is that of another tenant too")
	}
}

func TestShortRenderingsAreNoOveruse(t *testing.T) {
	start := time.Now()
	o := newOveruse()
	for range 1000 {
		o.add("acme", 0, start)
	}
	if o.isTooMuch("acme", start) {
		t.Error("nothing beyond courtesy is too much")
	}
}
