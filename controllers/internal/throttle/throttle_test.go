package throttle

import (
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var start = time.Date(2026, 11, 26, 10, 0, 0, 0, time.UTC)

func condition(kind string, status metav1.ConditionStatus, reason string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason}
}

var (
	progressing = []metav1.Condition{condition("Ready", metav1.ConditionFalse, "Progressing"), condition("Reconciling", metav1.ConditionTrue, "Progressing")}
	ready       = []metav1.Condition{condition("Ready", metav1.ConditionTrue, "Succeeded")}
	failed      = []metav1.Condition{condition("Ready", metav1.ConditionFalse, "Unhealthy")}
)

// object stands for one whose status is stored.
type object struct {
	writes  Writes
	subject string
	stored  []metav1.Condition
	count   int
}

// becomes writes the conditions if that is due, and returns when it is.
func (o *object) becomes(next []metav1.Condition, now time.Time) time.Time {
	change := Change{Subject: o.subject, Mirrors: true, Before: o.stored, After: next}
	due := o.writes.Due(change, now)
	if !due.After(now) {
		o.writes.Wrote(change, Health, now)
		o.stored, o.count = next, o.count+1
	}
	return due
}

func (o *object) asked(subject string, now time.Time) {
	o.subject = subject
	change := Change{Subject: subject, Before: o.stored, After: progressing}
	o.writes.Wrote(change, Health, now)
	o.stored = progressing
}

func TestAFirstSuccessAndAFirstFailureAreWrittenAtOnce(t *testing.T) {
	o := &object{}
	for generation := range 3 {
		now := start.Add(time.Duration(generation) * time.Second)
		o.asked(fmt.Sprint(generation), now)
		for _, next := range [][]metav1.Condition{ready, failed} {
			if due := o.becomes(next, now); due != now {
				t.Errorf("generation %d: %v is written at %s", generation, next, due)
			}
		}
	}
}

func TestWhatGoesBackAndForthIsWrittenLessAndLess(t *testing.T) {
	o := &object{}
	o.asked("1", start)
	o.becomes(ready, start)
	o.becomes(failed, start)
	o.becomes(ready, start)
	var writes []int
	for second := range 300 {
		next := failed
		if second%2 == 1 {
			next = ready
		}
		before := o.count
		o.becomes(next, start.Add(time.Duration(second)*time.Second))
		if o.count > before {
			writes = append(writes, second)
		}
	}
	if want := []int{10, 30, 70, 130, 190, 250}; !slices.Equal(writes, want) {
		t.Errorf("written at %v, want %v", writes, want)
	}
	if due := o.becomes(ready, start.Add(time.Hour)); due != start.Add(time.Hour) {
		t.Errorf("after an hour of rest it is written at %s", due)
	}
	o.becomes(failed, start.Add(time.Hour))
	if due := o.becomes(failed, start.Add(time.Hour)); due != start.Add(time.Hour+Health.First) {
		t.Errorf("after an hour of rest the pause ends at %s", due)
	}
}

func TestAChangeThatComesAfterAWhileIsWrittenAtOnce(t *testing.T) {
	o := &object{}
	o.asked("1", start)
	o.becomes(ready, start)
	if due := o.becomes(progressing, start); due != start {
		t.Errorf("the first flap is written at %s", due)
	}
	if due := o.becomes(ready, start.Add(time.Second)); due != start.Add(Health.First) {
		t.Errorf("the second one is written at %s", due)
	}
	later := start.Add(time.Hour)
	if due := o.becomes(ready, later); due != later {
		t.Errorf("one after an hour is written at %s", due)
	}
}

func TestNewsIsWrittenAtOnce(t *testing.T) {
	o := &object{}
	o.asked("1", start)
	o.becomes(ready, start)
	o.becomes(progressing, start)
	change := Change{Subject: "1", Mirrors: false, Before: o.stored, After: ready}
	if due := o.writes.Due(change, start); due != start {
		t.Errorf("it is written at %s", due)
	}
}

// A manager that starts knows what is stored, and nothing else.
func TestWhatIsStoredIsNoNewsAfterAStart(t *testing.T) {
	o := &object{subject: "1", stored: ready}
	change := Change{Subject: "1", Mirrors: true, Before: ready, After: []metav1.Condition{
		{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Succeeded", Message: "another one"},
	}}
	if o.writes.IsNews(change) {
		t.Error("another message is news")
	}
	if change.After = failed; !o.writes.IsNews(change) {
		t.Error("a failure is no news")
	}
}

func TestAClockThatIsSetBackHoldsNothingUp(t *testing.T) {
	o := &object{subject: "1", stored: ready}
	o.becomes(failed, start)
	o.becomes(ready, start)
	before := start.Add(-time.Hour)
	if due := o.becomes(failed, before); due != before {
		t.Errorf("it is written at %s", due)
	}
}

func TestReasonsWithoutEndAreNoNewsWithoutEnd(t *testing.T) {
	o := &object{subject: "1", stored: ready}
	for i := range 2 * maxTold {
		o.becomes([]metav1.Condition{condition("Ready", metav1.ConditionFalse, fmt.Sprint(i))}, start)
	}
	if o.count > maxTold+1 {
		t.Errorf("%d writes", o.count)
	}
}

func TestAConditionIsToldFirstOnce(t *testing.T) {
	o := &object{subject: "1", stored: progressing}
	change := Change{Subject: "1", Before: progressing, After: ready}
	if !o.writes.IsFirst(change, "Ready") {
		t.Error("the first success is not told")
	}
	o.becomes(ready, start)
	o.becomes(progressing, start)
	if o.writes.IsFirst(change, "Ready") {
		t.Error("the second one is told again")
	}
	if change.Subject = "2"; !o.writes.IsFirst(change, "Ready") {
		t.Error("the success of what is asked for next is not told")
	}
}

// TestStepsAreToldAtOnceUntilThereAreTooMany has a cluster that begins and ends something all the time.
func TestStepsAreToldAtOnceUntilThereAreTooMany(t *testing.T) {
	var w Writes
	step := Change{Subject: "1", Follows: true, Before: ready, After: ready}
	written := func(from time.Time, lasting time.Duration) (count int) {
		for now := from; now.Before(from.Add(lasting)); now = now.Add(100 * time.Millisecond) {
			if !w.Due(step, now).After(now) {
				w.Wrote(step, Health, now)
				count++
			}
		}
		return count
	}
	if got := written(start, time.Second); got != MaxSteps {
		t.Errorf("%d steps are written in the first second, want %d", got, MaxSteps)
	}
	if got := written(start.Add(time.Second), time.Minute); got > 6 {
		t.Errorf("%d steps are written in a minute after that, want 6 at most", got)
	}
	now := start.Add(time.Minute + time.Second)
	w.Wrote(step, Health, now)
	failure := step
	failure.After = failed
	if due := w.Due(failure, now); due != now {
		t.Errorf("a first failure is written %s later", due.Sub(now))
	}
	now = now.Add(time.Hour)
	if due := w.Due(step, now); due != now {
		t.Errorf("a step after an hour is written %s later", due.Sub(now))
	}
}
