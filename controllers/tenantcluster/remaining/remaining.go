// Package remaining reads what is in a cluster, as the steps of its deletion and of an upgrade want to know it.
package remaining

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/targets"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/deletion"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/topology"
)

// +kubebuilder:rbac:groups=backup.daytwo.dev,resources=backupenrollments,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=backup.daytwo.dev,resources=drdrills,verbs=get;list;watch

// Reader reads from the cache.
type Reader struct {
	client.Client
	Kinds targets.Registry
}

// Targets in a cluster, and the policies whose withdrawal guard holds them.
func (r Reader) Targets(ctx context.Context, cluster types.NamespacedName) ([]deletion.Target, error) {
	members, err := r.Kinds.In(ctx, r, cluster)
	if err != nil {
		return nil, err
	}
	var listed []deletion.Target
	for _, member := range members {
		target := deletion.Target{Kind: member.Kind.Kind, NamespacedName: member.Key(), Deleted: member.RemovedSince}
		if member.Kind.Policy != nil {
			target.PolicyKind = member.Kind.Policy.Kind
		}
		if member.RemovedSince.IsZero() {
			if target.HeldBy, err = r.guardOf(ctx, member); err != nil {
				return nil, err
			}
		}
		listed = append(listed, target)
	}
	return listed, nil
}

// guardOf names the policy whose withdrawal guard keeps a target from being deleted; empty if none does.
func (r Reader) guardOf(ctx context.Context, member targets.Member) (string, error) {
	key, has := member.PolicyKey()
	if !has {
		return "", nil
	}
	kind := member.Kind.Policy
	policy := kind.New()
	err := r.Get(ctx, key, policy)
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read %s %s: %w", kind.Kind, key, err)
	}
	if !guards(policy) {
		return "", nil
	}
	return kind.Kind + " " + key.String(), nil
}

// guards is whether the withdrawal guard of a policy holds targets back.
func guards(policy metav1alpha1.Policy) bool {
	stalled := meta.FindStatusCondition(policy.GetPolicyStatus().Conditions, metav1alpha1.ConditionStalled)
	return stalled != nil && stalled.Status == metav1.ConditionTrue && stalled.Reason == metav1alpha1.ReasonWithdrawalGuard
}

// GuardChanged is whether the withdrawal guard of a policy began to hold targets back, or ceased to.
func GuardChanged(before, after metav1alpha1.Policy) bool { return guards(before) != guards(after) }

// Runs names the drills, and other runs, that are under way in a cluster: what works there and has no policy.
func (r Reader) Runs(ctx context.Context, cluster types.NamespacedName) ([]string, error) {
	return r.names(ctx, cluster, func(member targets.Member) bool { return member.Kind.Policy == nil })
}

// Unready names the targets in a cluster that are not Ready.
func (r Reader) Unready(ctx context.Context, cluster types.NamespacedName) ([]string, error) {
	return r.names(ctx, cluster, func(member targets.Member) bool { return !member.Ready })
}

func (r Reader) names(ctx context.Context, cluster types.NamespacedName, of func(targets.Member) bool) ([]string, error) {
	members, err := r.Kinds.In(ctx, r, cluster)
	var names []string
	for _, member := range members {
		if of(member) {
			names = append(names, member.String())
		}
	}
	return names, err
}

// LatestBackup is how old the data of the newest good backup of a cluster is.
func (r Reader) LatestBackup(ctx context.Context, cluster types.NamespacedName) (topology.Backup, error) {
	members, err := r.Kinds.In(ctx, r, cluster)
	var newest topology.Backup
	for _, member := range members {
		if backup := member.Backup; backup != nil && backup.DataOf.After(newest.Latest) {
			newest.Latest = backup.DataOf
		}
	}
	return newest, err
}

// Enrollments are to make the last backup. Those that are leaving themselves will not.
func (r Reader) Enrollments(ctx context.Context, cluster types.NamespacedName) ([]deletion.Enrollment, error) {
	members, err := r.Kinds.In(ctx, r, cluster)
	var found []deletion.Enrollment
	for _, member := range members {
		if backup := member.Backup; backup != nil && member.RemovedSince.IsZero() {
			found = append(found, deletion.Enrollment{
				NamespacedName: member.Key(), Kind: member.Kind.GroupVersionKind, LastSuccess: backup.DataOf,
				Requested: backup.Requested, Answered: backup.Answered, Problem: backup.Problem,
			})
		}
	}
	return found, err
}

// RequestBackups asks for the last backup, with the annotation that people ask with.
func (r Reader) RequestBackups(ctx context.Context, enrollments []deletion.Enrollment, at time.Time) error {
	for _, one := range enrollments {
		enrollment := objects.MetadataOf(one.Kind)
		enrollment.Namespace, enrollment.Name = one.Namespace, one.Name
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, metav1alpha1.AnnotationBackupNow, at.UTC().Format(time.RFC3339))
		err := r.Patch(ctx, enrollment, client.RawPatch(types.MergePatchType, patch))
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("ask %s %s for a backup: %w", one.Kind.Kind, one.NamespacedName, err)
		}
	}
	return nil
}
