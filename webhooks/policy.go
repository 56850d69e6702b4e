package webhooks

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/saasaddon"
)

// +kubebuilder:rbac:groups=addons.daytwo.dev,resources=addonreleases,verbs=get;list;watch
// +kubebuilder:rbac:groups=tenancy.daytwo.dev,resources=tenantclusters,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get;list;watch

var saasAddonKind = addonsv1alpha1.GroupVersion.WithKind("SaaSAddon")

// saasAddons checks SaaSAddons.
type saasAddons struct {
	// client reads from the manager's cache, as the controller does.
	client            client.Client
	providerNamespace string
	clock             clock.PassiveClock
}

// ValidateCreate implements admission.Validator.
func (v *saasAddons) ValidateCreate(context.Context, *addonsv1alpha1.SaaSAddon) (admission.Warnings, error) {
	return nil, nil
}

// ValidateUpdate implements admission.Validator. It refuses an edit of the selectors that the guard would stop. What
// the guard has stopped already is no reason to refuse another edit, which may be the one that mends it.
func (v *saasAddons) ValidateUpdate(ctx context.Context, before, after *addonsv1alpha1.SaaSAddon) (admission.Warnings, error) {
	if !after.DeletionTimestamp.IsZero() || selectsAlike(before, after) {
		return nil, nil
	}
	now := v.clock.Now()
	next, err := saasaddon.Withdrawal(ctx, v.client, after, v.providerNamespace, now)
	if err != nil {
		return notChecked(err), nil
	}
	if !next.Held {
		return nil, nil
	}
	current, err := saasaddon.Withdrawal(ctx, v.client, before, v.providerNamespace, now)
	if err != nil {
		return notChecked(err), nil
	}
	if next.Clusters.Count <= current.Clusters.Count {
		return nil, nil
	}
	return nil, invalid(saasAddonKind, after.Name, "spec."+changedSelector(before, after),
		next.String()+". This edit is refused: to confirm it, set the annotation together with it")
}

// ValidateDelete implements admission.Validator.
func (v *saasAddons) ValidateDelete(context.Context, *addonsv1alpha1.SaaSAddon) (admission.Warnings, error) {
	return nil, nil
}

func notChecked(err error) admission.Warnings {
	return admission.Warnings{fmt.Sprintf("how many clusters the add-on would lose could not be found out; its controller looks at it before it does anything: %v", err)}
}

func selectsAlike(before, after *addonsv1alpha1.SaaSAddon) bool {
	return changedSelector(before, after) == ""
}

// changedSelector is the first field that selects clusters and was edited; empty if none was.
func changedSelector(before, after *addonsv1alpha1.SaaSAddon) string {
	switch {
	case !equality.Semantic.DeepEqual(before.Spec.ClusterSelector, after.Spec.ClusterSelector):
		return "clusterSelector"
	case !equality.Semantic.DeepEqual(before.Spec.ClusterNames, after.Spec.ClusterNames):
		return "clusterNames"
	case !equality.Semantic.DeepEqual(before.Spec.ClusterNamespaceSelector, after.Spec.ClusterNamespaceSelector):
		return "clusterNamespaceSelector"
	}
	return ""
}
