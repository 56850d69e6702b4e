package saasaddon

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
)

// publish writes the status if it changed, once, and announces what is new.
func (r *Reconciler) publish(ctx context.Context, addon *addonsv1alpha1.SaaSAddon, said outcome) error {
	if equality.Semantic.DeepEqual(addon.Status, said.status) {
		return nil
	}
	if err := r.patchStatus(ctx, addon, said.status); err != nil {
		return err
	}
	for _, news := range said.events {
		r.Events.Eventf(addon, nil, news.kind, news.reason, news.action, "%s", news.note)
	}
	return nil
}

// patchStatus writes what changes in the status, unless somebody else wrote the add-on meanwhile. The
// addon has the new status and resourceVersion then.
func (r *Reconciler) patchStatus(ctx context.Context, addon *addonsv1alpha1.SaaSAddon, status addonsv1alpha1.SaaSAddonStatus) error {
	base := &addonsv1alpha1.SaaSAddon{
		ObjectMeta: metav1.ObjectMeta{Namespace: addon.Namespace, Name: addon.Name, ResourceVersion: addon.ResourceVersion},
		Status:     addon.Status,
	}
	changed := base.DeepCopy()
	changed.Status = *status.DeepCopy()
	err := r.Client.Status().Patch(ctx, changed, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{}))
	if err != nil {
		return fmt.Errorf("write status: %w", err)
	}
	addon.ResourceVersion, addon.Status = changed.ResourceVersion, status
	return nil
}
