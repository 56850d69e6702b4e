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

const (
	// Patience with what should have happened long before, also on a machine that is busy with much else.
	Patience = 5 * time.Minute
	// LookEvery is how long to wait between two looks.
	LookEvery = 50 * time.Millisecond
)

// Eventually looks until there is nothing to complain about. It does not end with the test's context,
// since cleaning up waits too.
func Eventually(t testing.TB, what string, look func(context.Context) error) {
	t.Helper()
	latest := errors.New("there was no look at it")
	err := wait.PollUntilContextTimeout(context.Background(), LookEvery, Patience, true, func(ctx context.Context) (bool, error) {
		err := look(ctx)
		if err == nil || ctx.Err() == nil {
			latest = err
		}
		return latest == nil, nil
	})
	if err != nil {
		t.Fatalf("%s: not within %s: %v", what, Patience, latest)
	}
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
