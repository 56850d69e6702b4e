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
	base := &addonsv1alpha1.SaaSAddon{
		ObjectMeta: metav1.ObjectMeta{Namespace: addon.Namespace, Name: addon.Name, ResourceVersion: addon.ResourceVersion},
		Status:     addon.Status,
	}
	changed := base.DeepCopy()
	changed.Status = said.status
	err := r.Client.Status().Patch(ctx, changed, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{}))
	if err != nil {
		return fmt.Errorf("write status: %w", err)
	}
	for _, news := range said.events {
		r.Events.Eventf(addon, nil, news.kind, news.reason, news.action, "%s", news.note)
	}
	return nil
}
