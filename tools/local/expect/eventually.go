package expect

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
)

// Patience with what should have happened long before, also on a machine that is busy with much else.
const Patience = 5 * time.Minute

// Eventually looks often at first and then less often, so that tests that wait beside each other leave the processors
// to what they wait for. A test waits at most a fifth longer than it has to, and a quarter of a second.
const (
	firstInterval   = 10 * time.Millisecond
	longestInterval = 250 * time.Millisecond
	growth          = 1.2
)

// Eventually looks until there is nothing to complain about. It does not end with the test's context,
// since cleaning up waits too.
func Eventually(t testing.TB, what string, look func(context.Context) error) {
	t.Helper()
	EventuallyIn(context.Background(), t, what, look)
}

// EventuallyIn is Eventually that ends with a context.
func EventuallyIn(ctx context.Context, t testing.TB, what string, look func(context.Context) error) {
	t.Helper()
	if err := Await(ctx, what, look); err != nil {
		t.Fatal(err)
	}
}

// EventuallyTrue is Eventually for what is so or not. An error ends the test.
func EventuallyTrue(t testing.TB, what string, is wait.ConditionWithContextFunc) {
	t.Helper()
	Eventually(t, what, func(ctx context.Context) error {
		done, err := is(ctx)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if !done {
			return errors.New("it is not so")
		}
		return nil
	})
}

// Await is Eventually for what has no test, such as the start of what the tests of a package stand on.
func Await(ctx context.Context, what string, look func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	latest := errors.New("there was no look at it")
	delay := wait.Backoff{Duration: firstInterval, Factor: growth, Cap: longestInterval, Steps: int(Patience / firstInterval)}
	err := delay.DelayFunc().Until(ctx, true, false, func(ctx context.Context) (bool, error) {
		err := look(ctx)
		if err == nil || ctx.Err() == nil {
			latest = err
		}
		return latest == nil, nil
	})
	if err != nil {
		return fmt.Errorf("%s: not within %s: %w", what, Patience, latest)
	}
	return nil
}

// Condition complains unless a condition is as wanted; an empty reason may be any.
func Condition(conditions []metav1.Condition, kind string, is metav1.ConditionStatus, reason string) error {
	condition := meta.FindStatusCondition(conditions, kind)
	switch {
	case condition == nil:
		return fmt.Errorf("there is no condition %s, but: %s", kind, Describe(conditions))
	case condition.Status != is || (reason != "" && condition.Reason != reason):
		return fmt.Errorf("want %s=%s (%s), got: %s", kind, is, reason, Describe(conditions))
	}
	return nil
}

// Describe lists conditions for people.
func Describe(conditions []metav1.Condition) string {
	text := ""
	for _, c := range conditions {
		text += fmt.Sprintf("\n  %s=%s (%s) %s", c.Type, c.Status, c.Reason, c.Message)
	}
	if text == "" {
		return "no conditions"
	}
	return text
}
