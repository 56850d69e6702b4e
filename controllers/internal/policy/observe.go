package policy

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/abandoned"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/revision"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/trial"
)

// observation is everything that the other steps know.
type observation[P Policy, T Target] struct {
	policy P
	now    time.Time

	// view of the clusters and targets.
	view *view
	// guardMax bounds the policy's guard; zero for nothing.
	guardMax rollout.Guard
	// unwritten are the clusters whose target could not be written the last time, and why.
	unwritten map[rollout.ClusterKey]error
	// gone are the TenantClusters that do not exist, though a target names them. None of them is selected.
	gone sets.Set[rollout.ClusterKey]
	// abandoned are targets that are gone and left something behind.
	abandoned []abandoned.Target

	// content as it is now.
	content Content[P]
	// snapshot of the content; nil where it is not usable.
	snapshot *revision.Snapshot
	// gates of the kind, for all clusters.
	gates []rollout.Gate
	// again is when the kind may decide something else about all clusters; zero for never.
	again time.Time
	// phased is the kind, if its rollouts go in phases.
	phased PhasedKind[P]
	// trial of the content, before clusters get it.
	trial trial.Verdict
	// stall with the selectors or the content; nil if there is none.
	stall *Stall
}

// refuse keeps the first stall, unless a worse one comes.
func (o *observation[P, T]) refuse(stall *Stall) {
	if o.stall == nil || o.stall.Usable && stall != nil {
		o.stall = stall
	}
}

// observe reads what no event tells of a policy: what is there now of its content.
func (r *Reconciler[P, T]) observe(ctx context.Context, policy P, view *view, now time.Time) (*observation[P, T], error) {
	o := &observation[P, T]{policy: policy, view: view, now: now, stall: view.refused}
	o.abandoned = r.abandoned.Gone(client.ObjectKeyFromObject(policy), func(name string) types.UID {
		target, found := r.target(ctx, types.NamespacedName{Namespace: policy.GetNamespace(), Name: name})
		if !found {
			return ""
		}
		return target.GetUID()
	})
	if policy.GetNamespace() != r.ProviderNamespace {
		o.guardMax = r.guardMax
	}
	o.unwritten = r.unwritten.Of(client.ObjectKeyFromObject(policy))
	if !policy.GetDeletionTimestamp().IsZero() {
		return o, nil
	}
	if gated, ok := r.Kind.(GatedKind[P]); ok {
		o.gates = gated.Gates(policy, now)
	}
	o.phased, _ = r.Kind.(PhasedKind[P])
	var err error
	if o.gone, err = r.goneClusters(ctx, policy, view); err != nil {
		return nil, err
	}
	if err = r.observeContent(ctx, o); err == nil {
		r.observeTrial(o)
	}
	view.setRevision(currentRevision(*o))
	return o, err
}

// target is one from the cache, which must not be changed.
func (r *Reconciler[P, T]) target(ctx context.Context, key types.NamespacedName) (target T, found bool) {
	target = r.Kind.NewTarget()
	err := r.Client.Get(ctx, key, target, client.UnsafeDisableDeepCopy)
	return target, err == nil
}

// goneClusters are the clusters of targets that nothing selects and that are not there any more.
// It matters to policies of several namespaces alone.
func (r *Reconciler[P, T]) goneClusters(ctx context.Context, policy P, view *view) (gone sets.Set[rollout.ClusterKey], err error) {
	if policy.GetPolicySpec().ClusterNamespaceSelector == nil {
		return nil, nil
	}
	for i := range view.targets {
		key := view.targets[i].Cluster
		if _, selected := view.findCluster(key); selected {
			continue
		}
		err := r.Client.Get(ctx, client.ObjectKey(key), &tenancyv1alpha1.TenantCluster{}, client.UnsafeDisableDeepCopy)
		switch {
		case apierrors.IsNotFound(err):
			gone = inserted(gone, key)
		case err != nil:
			return nil, fmt.Errorf("read TenantCluster %s/%s: %w", key.Namespace, key.Name, err)
		}
	}
	return gone, nil
}
