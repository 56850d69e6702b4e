package certificatedelivery

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/daytwo-dev/daytwo/controllers/certificatedelivery/reload"
	"github.com/daytwo-dev/daytwo/controllers/internal/background"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
)

// passTime is how long one look at the workloads of a cluster may take, and wait for its turn.
const passTime = time.Minute

// errUnfinished has the workloads looked at again after a pause.
var errUnfinished = errors.New("workloads have not loaded what was delivered yet")

// newReloads are the tasks that look at workloads. Those whose pods are being replaced are looked at often at first, and after
// that every few minutes.
func newReloads(clock clock.PassiveClock) *background.Tasks[reload.Result] {
	pauses := wait.Backoff{Duration: time.Second, Factor: 1.6, Jitter: 0.2, Steps: 1 << 30, Cap: 5 * time.Minute}
	return background.New[reload.Result](func(error) bool { return false }).WithRetries(pauses, clock)
}

// reloadState is what is known of the workloads that use what was delivered.
type reloadState struct {
	// hash of what they are to have loaded; empty where nobody looks at them now.
	hash string
	// seen is what the last look at them showed.
	seen reload.Result
	// window in which they may be restarted.
	window reload.Window
	// again is when to look again; zero for never.
	again time.Time
}

// observeReload has the workloads looked at that may not have loaded what was delivered.
func (r *Reconciler) observeReload(o *observation, cluster *fleet.Cluster) {
	s := &o.Extra.reload
	s.window = reload.WindowOf(o.Tenant, loadedUntil(&o.Status), o.Now)
	if o.Suspension.Active || awaitsReload(&o.Status) == "" {
		r.reloads.Forget(client.ObjectKeyFromObject(o.Target))
		return
	}
	if s.hash = reloadsNow(o, &o.Status); s.hash == "" {
		return
	}
	id := background.IDOf(o.Target, "reload "+s.hash)
	id.Tenant = o.Target.Spec.ClusterRef.Namespace
	progress := r.reloads.Progress(id)
	s.seen = progress.Result
	switch {
	case progress.Running || progress.Done && s.seen.IsComplete():
		return
	case progress.Done && !s.window.Open:
		s.again = s.window.Again
		return
	case progress.Err != nil && o.Now.Before(progress.Again):
		s.again = progress.Again
		return
	}
	pass := reload.Pass{Cluster: cluster, Objects: reloadObjects(o.Status.Reload.Targets, o.Extra.namespaces), May: r.mayRestart(s.window), Before: s.seen}
	r.reloads.Start(id, o.Now.Add(passTime), func(ctx context.Context) (reload.Result, error) {
		seen := pass.Run(ctx)
		if seen.IsComplete() || seen.IsHeld() {
			return seen, nil
		}
		return seen, errUnfinished
	})
}

// mayRestart is whether workloads may be restarted, at any time.
func (r *Reconciler) mayRestart(window reload.Window) func() bool {
	return func() bool { return window.Open && (window.Closes.IsZero() || r.Clock.Now().Before(window.Closes)) }
}

// forgetTasks of a delivery that ends.
func (r *Reconciler) forgetTasks(o *observation) {
	key := client.ObjectKeyFromObject(o.Target)
	r.reloads.Forget(key)
	r.probes.Forget(key)
}
