package throttle

import (
	"time"

	"golang.org/x/time/rate"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Pause is the least time between two writes of one object's status that only mirror. It doubles from First as long as such
// changes go on, and is Longest at most. The zero Pause holds nothing up.
type Pause struct{ First, Longest time.Duration }

// Summary is the pause of a status that sums up those of many others, each of which has a pause of its own. It does not grow, as
// the counts of a rollout change all the time.
var Summary = Pause{First: 10 * time.Second, Longest: 10 * time.Second}

// Health is the pause of a status that mirrors what runs in a customer's cluster: what flaps costs three writes in the first
// minute, and one in each of the next.
var Health = Pause{First: 10 * time.Second, Longest: time.Minute}

// Steps of what goes on are told at once, such as a backup that begins and ends: so many, and one more each time StepEvery has passed.
const (
	MaxSteps  = 6
	StepEvery = 10 * time.Second
)

// maxTold bounds what is remembered of one object. Reasons are constants, so that all of them together are fewer.
const maxTold = 256

// Writes are those of the status of one object. The zero value remembers none. It is for one worker at a time.
type Writes struct {
	// mirrored is when a status was written that only mirrored, and pause the least time until the next one.
	mirrored time.Time
	pause    time.Duration
	// steps that may be told now; nil for MaxSteps.
	steps *rate.Limiter
	// subject is what people asked for, as of the last write.
	subject string
	// told are the conditions that were told of it.
	told map[told]bool
}

// told is what is told by one condition. A condition that is not there has no status.
type told struct {
	kind   string
	status metav1.ConditionStatus
	reason string
}

// Change is a change of an object's status.
type Change struct {
	// Subject is what people asked for that the status speaks of, such as the generation of the spec.
	Subject string
	// Mirrors: beside its conditions, what changes in the status only mirrors.
	Mirrors bool
	// Follows: it does not mirror, but tells no more than a step of what goes on where others work.
	Follows bool
	// Before and After are the conditions as they are stored, and as they are to be.
	Before, After []metav1.Condition
}

// IsNews is whether a change tells more than what was told before.
func (w *Writes) IsNews(c Change) bool {
	return !c.Mirrors || w.tellsFirst(c)
}

// tellsFirst is whether a change tells of a condition what was not told yet.
func (w *Writes) tellsFirst(c Change) bool {
	already := w.toldOf(c.Subject, c.Before)
	for one := range factsOf(c.Before, c.After) {
		if !already[one] && len(already) < maxTold {
			return true
		}
	}
	return false
}

// IsFirst is whether a condition has a status and a reason, as of after a change, that were not told yet.
func (w *Writes) IsFirst(c Change, condition string) bool {
	already := w.toldOf(c.Subject, c.Before)
	for _, one := range c.After {
		if one.Type == condition {
			return !already[told{one.Type, one.Status, one.Reason}]
		}
	}
	return false
}

// Due is when a change is to be written: now, or when the pause since the last write that only mirrored has passed.
func (w *Writes) Due(c Change, now time.Time) time.Time {
	if c.Follows && !w.tellsFirst(c) {
		return w.nextStep(now)
	}
	due := w.mirrored.Add(w.pause)
	if now.Before(w.mirrored) || due.Before(now) || w.IsNews(c) {
		return now
	}
	return due
}

// nextStep is when a step may be told.
func (w *Writes) nextStep(now time.Time) time.Time {
	if w.steps == nil {
		return now
	}
	missing := 1 - w.steps.TokensAt(now)
	return now.Add(time.Duration(max(0, missing) * float64(StepEvery)))
}

// Wrote remembers that a change was written, and how long the next one that only mirrors has to wait.
func (w *Writes) Wrote(c Change, pause Pause, now time.Time) {
	if c.Follows {
		if w.steps == nil {
			w.steps = rate.NewLimiter(rate.Every(StepEvery), MaxSteps)
		}
		w.steps.AllowN(now, 1)
	}
	if !w.IsNews(c) {
		if goesOn := now.Before(w.mirrored.Add(2 * w.pause)); goesOn {
			w.pause = min(2*w.pause, pause.Longest)
		} else {
			w.pause = pause.First
		}
		w.mirrored = now
	}
	w.told, w.subject = w.toldOf(c.Subject, c.Before), c.Subject
	for one := range factsOf(c.Before, c.After) {
		if len(w.told) < maxTold {
			w.told[one] = true
		}
	}
}

// toldOf is what was told of a subject. What is stored was told, by this process or by one before it, unless the subject is
// another one since.
func (w *Writes) toldOf(subject string, stored []metav1.Condition) map[told]bool {
	if w.told == nil {
		return factsOf(stored, stored)
	}
	if w.subject != subject {
		return map[told]bool{}
	}
	return w.told
}

// factsOf is what conditions tell, also of those that were there before and are not any more.
func factsOf(before, after []metav1.Condition) map[told]bool {
	facts := make(map[told]bool, len(after))
	present := make(map[string]bool, len(after))
	for _, one := range after {
		present[one.Type] = true
		facts[told{one.Type, one.Status, one.Reason}] = true
	}
	for _, one := range before {
		if !present[one.Type] {
			facts[told{kind: one.Type}] = true
		}
	}
	return facts
}
