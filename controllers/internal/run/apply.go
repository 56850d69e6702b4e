package run

import (
	"context"
	"errors"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/action"
	"github.com/daytwo-dev/daytwo/controllers/internal/background"
	"github.com/daytwo-dev/daytwo/controllers/internal/conditions"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/truncate"
)

// result is what became of a plan.
type result struct {
	// advanced: the run is a step further, and the next one may be taken at once.
	advanced bool
	// awaits says what the run waits for; empty for nothing.
	awaits string
	// lingers: what the run made stays until then, though the run has ended.
	lingers time.Time
	err     error
}

// apply carries a plan out. What becomes of it is in the status of next, a copy of the run.
func (r *Reconciler[R, S]) apply(ctx context.Context, o observation[R, S], p plan[R], next R) result {
	now, status := metav1.NewTime(o.Now).Rfc3339Copy(), next.GetRunStatus()
	switch {
	case p.claim || p.release:
		return result{advanced: p.claim, err: r.setFinalizer(ctx, o.Run, p.claim)}
	case p.start:
		status.StartedAt = &now
	case p.clusters != nil:
		status.Clusters = p.clusters
	case p.end != nil:
		r.end(o, *p.end, next)
	case p.record != nil:
		p.record(next)
	case p.beginTask != nil:
		status.Tasks = append(status.Tasks, metav1alpha1.RunTask{
			Name: p.beginTask.Name, StartedAt: now, Deadline: metav1.NewTime(now.Add(p.beginTask.Timeout)),
		})
	case p.task != nil:
		return r.actOnTask(o, p, next)
	case p.begin != nil:
		return r.begin(ctx, o, *p.begin, next)
	case p.action != nil:
		return r.act(ctx, o, p, status)
	case len(p.remove) > 0:
		return r.removeAll(ctx, o, p, status)
	case p.finish:
		if removing, ok := r.Kind.(RemovingKind[R]); ok {
			if err := removing.Remove(ctx, o.Run); err != nil {
				return result{err: err}
			}
		}
		r.forgetObservations(o)
		status.FinishedAt = &now
	default:
		return result{awaits: p.awaits, lingers: p.lingers}
	}
	return result{advanced: true}
}

func (r *Reconciler[R, S]) setFinalizer(ctx context.Context, run R, claim bool) error {
	next := clone(run)
	if claim {
		controllerutil.AddFinalizer(next, metav1alpha1.FinalizerRun)
	} else {
		controllerutil.RemoveFinalizer(next, metav1alpha1.FinalizerRun)
	}
	return client.IgnoreNotFound(r.Client.Patch(ctx, next, client.MergeFromWithOptions(run, client.MergeFromWithOptimisticLock{})))
}

// end records how a run ended, and what ended with it.
func (r *Reconciler[R, S]) end(o observation[R, S], e ending, next R) {
	at, status := metav1.NewTime(o.Now).Rfc3339Copy(), next.GetRunStatus()
	status.Outcome, status.Message, status.EndedAt = e.outcome, truncate.Message(e.message, conditions.MaxMessage), &at
	for i, a := range status.Actions {
		if a.Outcome == "" {
			status.Actions[i] = action.End(a, metav1alpha1.ActionCancelled, e.message, o.Now)
		}
	}
	for i, t := range status.Tasks {
		if t.Outcome == "" {
			status.Tasks[i] = endTask(t, metav1alpha1.ActionCancelled, e.message, o.Now)
		}
	}
	r.tasks.Forget(client.ObjectKeyFromObject(o.Run))
	if concluding, ok := r.Kind.(ConcludingKind[R]); ok {
		concluding.Conclude(next)
	}
}

// actOnTask goes on with the task that is under way.
func (r *Reconciler[R, S]) actOnTask(o observation[R, S], p plan[R], next R) result {
	*next.GetRunStatus().Task(p.task.Name) = *p.task
	if p.task.Outcome == "" {
		doing, ok := r.Kind.(TaskKind[R, S])
		if ok && !o.progress.Running && !o.Now.Before(o.progress.Again) {
			r.tasks.Start(background.IDOf(o.Run, p.task.Name), p.task.Deadline.Time, func(ctx context.Context) (func(*S), error) { return doing.Do(ctx, o.View, p.task.Name) })
		}
		return result{awaits: p.awaits}
	}
	if o.progress.Result != nil {
		o.progress.Result(r.Kind.Status(next))
	}
	return result{advanced: true}
}

func awaitsContent(name string) string { return name + ": waits for what its object is made from" }

// begin records an action. What its object cannot be made from ends the run.
func (r *Reconciler[R, S]) begin(ctx context.Context, o observation[R, S], b Beginning, next R) result {
	status := next.GetRunStatus()
	object, err := r.Kind.Object(ctx, o.View, b.Action)
	var refusal *Refusal
	switch {
	case errors.As(err, &refusal):
		r.end(o, ending{metav1alpha1.RunFailed, b.Action + ": " + refusal.Message}, next)
		return result{advanced: true}
	case err != nil || object == nil:
		return result{awaits: awaitsContent(b.Action), err: err}
	}
	status.Actions = append(status.Actions, o.owner.New(b.Action, b.Cluster, o.clusters[b.Cluster].ClusterID, object, o.Now, b.Timeout))
	return result{advanced: true}
}

// act goes on with the action that is under way.
func (r *Reconciler[R, S]) act(ctx context.Context, o observation[R, S], p plan[R], status *metav1alpha1.RunStatus) result {
	before, next, awaits := *status.Action(p.action.Name), *p.action, p.awaits
	var err error
	if p.step != action.Wait {
		next, err = r.do(ctx, o, p, next)
	}
	*status.Action(next.Name) = next
	if p.step == action.Make {
		awaits = awaitsContent(next.Name)
	}
	return result{advanced: next.Outcome != "" || next.UID != before.UID, awaits: awaits, err: err}
}

func (r *Reconciler[R, S]) do(ctx context.Context, o observation[R, S], p plan[R], a metav1alpha1.Action) (metav1alpha1.Action, error) {
	cluster := o.clusters[Key(a.ClusterRef)].cluster
	if p.step != action.Make {
		return action.Do(ctx, cluster, o.owner, a, p.step, nil, o.Now)
	}
	object, err := r.Kind.Object(ctx, o.View, a.Name)
	var refusal *Refusal
	switch {
	case errors.As(err, &refusal):
		return action.End(a, metav1alpha1.ActionFailed, refusal.Message, o.Now), nil
	case err != nil || object == nil:
		return a, err
	}
	return action.Do(ctx, cluster, o.owner, a, p.step, object, o.Now)
}

func (r *Reconciler[R, S]) removeAll(ctx context.Context, o observation[R, S], p plan[R], status *metav1alpha1.RunStatus) result {
	var awaited []string
	var errs []error
	for _, a := range p.remove {
		awaits, err := r.remove(ctx, o, a)
		switch {
		case err != nil:
			errs = append(errs, err)
		case awaits != "":
			awaited = append(awaited, awaits)
		default:
			status.Action(a.Name).Removed = true
		}
	}
	done := result{awaits: strings.Join(awaited, "; "), err: errors.Join(errs...)}
	done.advanced = done.err == nil && len(awaited) == 0
	return done
}

// forgetObservations ends all watches of a run.
func (r *Reconciler[R, S]) forgetObservations(o observation[R, S]) {
	for _, view := range o.clusters {
		if view.cluster != nil {
			view.cluster.RetainObservations(r.ownerOf(o.Run), func(fleet.Selection) bool { return false })
		}
	}
}
