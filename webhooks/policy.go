package webhooks

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

// +kubebuilder:rbac:groups=addons.daytwo.dev,resources=addonreleases,verbs=get;list;watch
// +kubebuilder:rbac:groups=backup.daytwo.dev,resources=backupenrollments,verbs=get;list;watch
// +kubebuilder:rbac:groups=certificates.daytwo.dev,resources=certificatedeliveries,verbs=get;list;watch
// +kubebuilder:rbac:groups=tenancy.daytwo.dev,resources=tenantclusters,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get;list;watch

// policies checks the policies of one kind.
type policies[P metav1alpha1.Policy] struct {
	kind  schema.GroupVersionKind
	clock clock.PassiveClock
	// withdrawal is of the clusters that a policy loses if it is as given.
	withdrawal func(ctx context.Context, policy P, now time.Time) (withdrawal, error)
	// boundGuard is BoundGuard of Options.
	boundGuard func(namespace string, guard metav1alpha1.WithdrawalGuard) metav1alpha1.WithdrawalGuard
	// check refuses what no controller could carry out; nil for kinds whose definition says all of that.
	check func(policy P, now time.Time) error
	// preview refuses content that the policy's clusters could not use, and warns where that is not known; nil for kinds without such
	// content. It is asked for content that is new, which sameContent tells of an edit.
	preview     func(ctx context.Context, policy P) (admission.Warnings, error)
	sameContent func(before, after P) bool
}

// withdrawal is what the guard makes of the clusters that a policy loses.
type withdrawal interface {
	// IsHeld is whether none of them loses its target now, and Count how many they are.
	IsHeld() bool
	Count() int32
	// SelectedCount is how many clusters the policy selects.
	SelectedCount() int32
	// Explanation says why they are held, and names none of them.
	Explanation() string
}

// serve answers for the policies of a kind. The guard is what ask says of a policy, from the manager's cache.
func serve[P metav1alpha1.Policy, W withdrawal](
	mgr manager.Manager, v *policies[P], empty P, options Options,
	ask func(context.Context, client.Client, P, string, time.Time) (W, error),
) error {
	v.clock, v.boundGuard = options.Clock, options.BoundGuard
	v.withdrawal = func(ctx context.Context, edited P, now time.Time) (withdrawal, error) {
		policy := edited.DeepCopyObject().(P)
		policy.GetPolicySpec().WithdrawalGuard = v.bounded(policy)
		return ask(ctx, mgr.GetClient(), policy, options.ProviderNamespace, now)
	}
	if err := builder.WebhookManagedBy(mgr, empty).WithValidator(v).Complete(); err != nil {
		return fmt.Errorf("serve the webhook of %s: %w", v.kind.Kind, err)
	}
	return nil
}

// ValidateCreate implements admission.Validator. A policy that selects nothing is warned of.
func (v *policies[P]) ValidateCreate(ctx context.Context, policy P) (admission.Warnings, error) {
	if err := v.guarded(policy); err != nil {
		return nil, err
	}
	if err := v.checked(policy); err != nil {
		return nil, err
	}
	warnings, err := v.previewed(ctx, policy)
	if err != nil {
		return nil, err
	}
	found, err := v.withdrawal(ctx, policy, v.clock.Now())
	if err != nil {
		return warnings, nil // Nothing is lost by a policy that is new, and its controller tells the rest.
	}
	return append(warnings, selectsNothing(found)...), nil
}

// selectsNothing warns of selectors that match no cluster, which are often misspelled.
func selectsNothing(found withdrawal) admission.Warnings {
	if found.SelectedCount() > 0 {
		return nil
	}
	return admission.Warnings{"no TenantCluster is selected now: compare the selectors with kubectl get tenantclusters --show-labels"}
}

// guarded refuses a guard that allows more than the provider.
func (v *policies[P]) guarded(policy P) error {
	wanted, bound := policy.GetPolicySpec().WithdrawalGuard, v.bounded(policy)
	if wanted.MaxClusters <= bound.MaxClusters && ptr.Deref(wanted.MaxPercent, 0) <= ptr.Deref(bound.MaxPercent, 100) {
		return nil
	}
	return invalid(v.kind, policy.GetName(), "spec.withdrawalGuard",
		fmt.Sprintf("the provider bounds it to maxClusters: %d and maxPercent: %d: use no more", bound.MaxClusters, ptr.Deref(bound.MaxPercent, 100)))
}

// bounded is the guard of a policy within what the provider allows.
func (v *policies[P]) bounded(policy P) metav1alpha1.WithdrawalGuard {
	return v.boundGuard(policy.GetNamespace(), policy.GetPolicySpec().WithdrawalGuard)
}

// ValidateUpdate implements admission.Validator. It refuses an edit of the selectors that the guard would stop. What
// the guard has stopped already is no reason to refuse another edit, which may be the one that mends it. A refusal names no
// cluster, since who asks, and for which namespace, is only what the request says.
func (v *policies[P]) ValidateUpdate(ctx context.Context, before, after P) (admission.Warnings, error) {
	if !after.GetDeletionTimestamp().IsZero() {
		return nil, nil
	}
	if !equality.Semantic.DeepEqual(before.GetPolicySpec().WithdrawalGuard, after.GetPolicySpec().WithdrawalGuard) {
		if err := v.guarded(after); err != nil {
			return nil, err
		}
	}
	if err := v.checked(after); err != nil {
		return nil, err
	}
	var warnings admission.Warnings
	if v.sameContent == nil || !v.sameContent(before, after) {
		var err error
		if warnings, err = v.previewed(ctx, after); err != nil {
			return nil, err
		}
	}
	more, err := v.withdrawn(ctx, before, after)
	return append(warnings, more...), err
}

// withdrawn refuses an edit of the selectors that loses more clusters than the guard allows.
func (v *policies[P]) withdrawn(ctx context.Context, before, after P) (admission.Warnings, error) {
	changed := changedSelector(before.GetPolicySpec(), after.GetPolicySpec())
	if changed == "" {
		return nil, nil
	}
	now := v.clock.Now()
	next, err := v.withdrawal(ctx, after, now)
	if err != nil {
		return notChecked(err), nil
	}
	if !next.IsHeld() {
		return selectsNothing(next), nil
	}
	current, err := v.withdrawal(ctx, before, now)
	if err != nil {
		return notChecked(err), nil
	}
	if next.Count() <= current.Count() {
		return nil, nil
	}
	return nil, invalid(v.kind, after.GetName(), "spec."+changed,
		next.Explanation()+". This edit is refused: to confirm it, set the annotation together with it")
}

// ValidateDelete implements admission.Validator.
func (v *policies[P]) ValidateDelete(context.Context, P) (admission.Warnings, error) {
	return nil, nil
}

func (v *policies[P]) checked(policy P) error {
	if v.check == nil {
		return nil
	}
	return v.check(policy, v.clock.Now())
}

func (v *policies[P]) previewed(ctx context.Context, policy P) (admission.Warnings, error) {
	if v.preview == nil {
		return nil, nil
	}
	return v.preview(ctx, policy)
}

func notChecked(err error) admission.Warnings {
	return admission.Warnings{fmt.Sprintf("how many clusters the policy would lose could not be found out; its controller looks at it before it does anything: %v", err)}
}

// changedSelector is the first field that selects clusters and was edited; empty if none was.
func changedSelector(before, after *metav1alpha1.PolicySpec) string {
	switch {
	case !equality.Semantic.DeepEqual(before.ClusterSelector, after.ClusterSelector):
		return "clusterSelector"
	case !equality.Semantic.DeepEqual(before.ClusterNames, after.ClusterNames):
		return "clusterNames"
	case !equality.Semantic.DeepEqual(before.ClusterNamespaceSelector, after.ClusterNamespaceSelector):
		return "clusterNamespaceSelector"
	}
	return ""
}
