package e2e

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// patience with what should have happened long before.
	patience  = 90 * time.Second
	lookEvery = 50 * time.Millisecond
)

// eventually looks until there is nothing to complain about. It does not end with the test's context,
// since cleaning up waits too.
func eventually(t testing.TB, what string, look func(context.Context) error) {
	t.Helper()
	latest := errors.New("there was no look at it")
	err := wait.PollUntilContextTimeout(context.Background(), lookEvery, patience, true, func(ctx context.Context) (bool, error) {
		err := look(ctx)
		if err == nil || ctx.Err() == nil {
			latest = err
		}
		return latest == nil, nil
	})
	if err != nil {
		t.Fatalf("%s: not within %s: %v", what, patience, latest)
	}
}

// waitGone waits until an object does not exist.
func waitGone(t testing.TB, c client.Client, object client.Object) {
	t.Helper()
	eventually(t, fmt.Sprintf("%T %s is gone", object, client.ObjectKeyFromObject(object)), func(ctx context.Context) error {
		err := c.Get(ctx, client.ObjectKeyFromObject(object), object)
		switch {
		case apierrors.IsNotFound(err):
			return nil
		case err != nil:
			return err
		}
		return fmt.Errorf("it is there, deleted at %v, with finalizers %v", object.GetDeletionTimestamp(), object.GetFinalizers())
	})
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// has complains unless a condition is as wanted; an empty reason may be any.
func has(conditions []metav1.Condition, kind string, is metav1.ConditionStatus, reason string) error {
	condition := meta.FindStatusCondition(conditions, kind)
	switch {
	case condition == nil:
		return fmt.Errorf("there is no condition %s, but: %s", kind, describe(conditions))
	case condition.Status != is || (reason != "" && condition.Reason != reason):
		return fmt.Errorf("want %s=%s (%s), got: %s", kind, is, reason, describe(conditions))
	}
	return nil
}

func describe(conditions []metav1.Condition) string {
	text := ""
	for _, c := range conditions {
		text += fmt.Sprintf("\n  %s=%s (%s) %s", c.Type, c.Status, c.Reason, c.Message)
	}
	if text == "" {
		return "no conditions"
	}
	return text
}

func message(conditions []metav1.Condition, kind string) string {
	if condition := meta.FindStatusCondition(conditions, kind); condition != nil {
		return condition.Message
	}
	return ""
}
