package graceful

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const grace = 20 * time.Second

// recorder is a reconciler that works for a while, and tells how that ended.
type recorder struct {
	work  time.Duration
	calls int
	ended error
}

func (r *recorder) Reconcile(ctx context.Context, _ string) (reconcile.Result, error) {
	r.calls++
	select {
	case <-time.After(r.work):
	case <-ctx.Done():
		r.ended = ctx.Err()
	}
	return reconcile.Result{RequeueAfter: time.Minute}, r.ended
}

func TestNoReconcileStartsAfterTheEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	inner := &recorder{}
	result, err := InGroup(&Group{Grace: grace}, inner).Reconcile(ctx, "a")
	if err != nil || !result.IsZero() {
		t.Errorf("got %v, %v; want nothing to be asked for", result, err)
	}
	if inner.calls != 0 {
		t.Error("the inner reconciler was called")
	}
}

func TestReconcileUnderWayFinishesWithinTheGracePeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		inner := &recorder{work: grace}
		result, err := InGroup(&Group{Grace: grace}, inner).Reconcile(ctx, "a")
		if err != nil || inner.ended != nil {
			t.Errorf("the reconcile was ended: %v, %v", err, inner.ended)
		}
		if result.RequeueAfter != time.Minute {
			t.Errorf("the inner result was lost: %v", result)
		}
	})
}

func TestReconcileIsEndedAfterTheGracePeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		start := time.Now()
		_, err := InGroup(&Group{Grace: grace}, &recorder{work: time.Hour}).Reconcile(ctx, "a")
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want that the reconcile was cancelled", err)
		}
		if took := time.Since(start); took != time.Second+grace {
			t.Errorf("ended after %s, want %s", took, time.Second+grace)
		}
	})
}

func TestDeadlineOfTheContextHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		start := time.Now()
		_, err := InGroup(&Group{Grace: grace}, &recorder{work: time.Hour}).Reconcile(ctx, "a")
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want that the deadline had passed", err)
		}
		if took := time.Since(start); took != time.Minute {
			t.Errorf("ended after %s, want a minute", took)
		}
	})
}

func TestNothingIsLeftOfAReconcile(t *testing.T) {
	// synctest fails the test if a goroutine is left waiting.
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		if _, err := InGroup(&Group{Grace: grace}, &recorder{work: time.Second}).Reconcile(ctx, "a"); err != nil {
			t.Error(err)
		}
		cancel()
	})
}
