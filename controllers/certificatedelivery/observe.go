package certificatedelivery

import (
	"context"
	"errors"
	"time"

	"github.com/daytwo-dev/daytwo/controllers/certificatedelivery/relay"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/target"
)

// extra is what is found out in one reconcile beside the objects.
type extra struct {
	// inputs is the hash of what the objects are made from, without the namespaces.
	inputs string
	// namespaces that selectors select, by their text.
	namespaces map[string][]string
	// unseen is why namespaces are not known; nil if they are.
	unseen *target.Verdict
	// declared is what was declared; nil if nothing was.
	declared *declared
	// requests is what is known of requests in the cluster.
	requests relay.State
	// again is when to look again; zero for never.
	again time.Time
	// reload is what is known of the workloads, and probe of the server.
	reload reloadState
	probe  probeState
}

// Observe implements target.StagedKind: namespaces that come and go change what is to be in the cluster.
func (r *Reconciler) Observe(ctx context.Context, o *observation, cluster *fleet.Cluster) error {
	o.Extra.inputs = o.Inputs
	if !o.Target.DeletionTimestamp.IsZero() {
		cluster.RetainObservations(r.Room.Owner(o.Target), func(fleet.Selection) bool { return false })
		r.forgetTasks(o)
		return nil
	}
	o.Extra.inputs = withAuthority(o.Extra.inputs, o.Target.Spec.Authority)
	o.Inputs = withNamespaces(o.Extra.inputs, o.Status.Namespaces)
	found, err := r.observeNamespaces(ctx, o, cluster, o.Status.NamespaceSelectors)
	if err != nil {
		// What is known of the namespaces will do for everything else.
		if errors.As(err, &o.Extra.unseen) {
			return nil
		}
		return err
	}
	o.Extra.namespaces = found
	o.Inputs = withNamespaces(o.Extra.inputs, hashOf(found))
	r.observeReload(o, cluster)
	r.observeProbe(o, cluster)
	return nil
}
