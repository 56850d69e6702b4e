package backup

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	watchtools "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
)

// fewestSteps is less than what any drill takes.
const fewestSteps = 5

// killAfterEachStep kills the manager each time that a drill has recorded another step, until the drill has finished. The
// drill is as it was created: each step since then is an event of a watch, however fast one follows another.
func (c *customer) killAfterEachStep(drill *backupv1alpha1.DRDrill) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), expect.Patience)
	defer cancel()
	changes := c.watchSince(ctx, drill)
	current, kills := runningLife(), 0
	defer func() { must(c.t, current.begun()) }()
	_, err := watchtools.UntilWithoutRetry(ctx, changes, func(event watch.Event) (bool, error) {
		next, ok := event.Object.(*backupv1alpha1.DRDrill)
		if !ok {
			return false, apierrors.FromObject(event.Object)
		}
		grown := steps(next) > steps(drill)
		next.DeepCopyInto(drill)
		if !grown {
			return drill.Status.FinishedAt != nil, nil
		}
		if err := current.kill(); err != nil {
			return false, err
		}
		current = newLife(c.t.Context())
		kills++
		return false, nil
	})
	if err != nil {
		c.t.Fatalf("the drill has not finished after %d kills: %v: %+v, %v", kills, err, drill.Status.Actions, drill.Status.Conditions)
	}
	if drill.Status.Verdict != backupv1alpha1.DrillPassed {
		c.t.Errorf("killed %d times, the drill is %s: %+v", kills, drill.Status.Verdict, drill.Status.Checks)
	}
	if recorded := steps(drill); kills != recorded || kills < fewestSteps {
		c.t.Errorf("the manager was killed %d times in %d steps, want it killed after each of %d or more", kills, recorded, fewestSteps)
	}
}

// steps counts what a drill has recorded. A reconcile records one step at most.
func steps(drill *backupv1alpha1.DRDrill) int {
	return len(drill.Status.Actions) + len(drill.Status.Tasks)
}

// watchSince watches a drill from the version that drill has.
func (c *customer) watchSince(ctx context.Context, drill *backupv1alpha1.DRDrill) watch.Interface {
	c.t.Helper()
	changes, err := env.Admin.Watch(ctx, &backupv1alpha1.DRDrillList{},
		client.InNamespace(drill.Namespace), client.MatchingFields{metav1.ObjectNameField: drill.Name},
		&client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: drill.ResourceVersion}})
	must(c.t, err)
	return changes
}

// life is one of the manager's. It can end before the manager is ready, when a drill goes on sooner than that.
type life struct {
	abort context.CancelFunc
	start chan error
}

// runningLife is the life of the manager that is ready.
func runningLife() *life {
	began := make(chan error)
	close(began)
	return &life{abort: func() {}, start: began}
}

// newLife starts the manager, and does not wait until it is ready.
func newLife(ctx context.Context) *life {
	ctx, abort := context.WithCancel(ctx)
	started := make(chan error, 1)
	go func() {
		defer close(started)
		started <- env.Manager.Start(ctx)
	}()
	return &life{abort: abort, start: started}
}

// begun waits until the manager is ready.
func (l *life) begun() error { return <-l.start }

// kill ends the manager at once. A start that is aborted does so itself.
func (l *life) kill() error {
	l.abort()
	err := l.begun()
	switch {
	case errors.Is(err, context.Canceled):
		return nil
	case err != nil:
		return err
	}
	return env.Manager.Kill()
}
