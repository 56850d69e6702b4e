package policy

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/daytwo-dev/daytwo/controllers/internal/policy/abandoned"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/news"
)

// statusOnly is a policy that has the identity, the version and a copy of the status of another, and nothing else.
func statusOnly[P Policy, T Target](kind Kind[P, T], policy P) P {
	only := kind.NewPolicy()
	only.SetNamespace(policy.GetNamespace())
	only.SetName(policy.GetName())
	only.SetResourceVersion(policy.GetResourceVersion())
	kind.CopyStatus(only, policy)
	return only
}

// emit tells news of a policy, by Events and in the log.
func (r *Reconciler[P, T]) emit(ctx context.Context, policy P, told []news.Record) {
	for _, one := range told {
		r.Recorder.Eventf(policy, nil, one.Type, one.Reason, one.Action, "%s", one.Note)
		log.FromContext(ctx).Info(one.LogLine(), "reason", one.Reason, "message", one.Note)
	}
}

// patchStatus writes what changes in the status, unless another client wrote the policy meanwhile. The
// policy has the new status and resourceVersion then.
func (r *Reconciler[P, T]) patchStatus(ctx context.Context, policy, changed P) error {
	base, answer := statusOnly(r.Kind, policy), changed.DeepCopyObject().(P)
	err := r.Client.Status().Patch(ctx, answer, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{}))
	if err != nil {
		return fmt.Errorf("write status: %w", err)
	}
	r.written.Of(client.ObjectKeyFromObject(policy)).Wrote(answer)
	policy.SetResourceVersion(answer.GetResourceVersion())
	r.Kind.CopyStatus(policy, changed)
	return nil
}

// announceAbandoned tells of the last targets of a policy that is gone itself: it has no status any more.
func (r *Reconciler[P, T]) announceAbandoned(ctx context.Context, o observation[P, T]) {
	_, added := abandoned.Record(o.policy.GetPolicyStatus().Abandoned, o.abandoned, metav1.NewTime(o.now))
	r.emit(ctx, o.policy, news.OfAbandoned(added))
}
