package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
)

// homeless is a Deployment whose pods fit on no node.
const homeless = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      nodeSelector: {disk: none-has-this}
      containers: [{name: web, image: registry.example/web:1}]
`

// TestARolloutThatStandsStillSaysWhy declares pods that the scheduler has no node for.
func TestARolloutThatStandsStillSaysWhy(t *testing.T) {
	t.Parallel()
	c := newCustomer(t, 1, 0)
	addon := c.newAddon("homeless", homeless)
	must(t, env.Admin.Create(t.Context(), addon))
	expect.Eventually(t, "the add-on says which cluster, object and pod stand still, why, and since when", func(ctx context.Context) error {
		if err := env.Admin.Get(ctx, client.ObjectKeyFromObject(addon), addon); err != nil {
			return err
		}
		if err := expect.Condition(addon.Status.Conditions, metav1alpha1.ConditionReady, metav1.ConditionFalse, metav1alpha1.ReasonStandstill); err != nil {
			return err
		}
		message := meta.FindStatusCondition(addon.Status.Conditions, metav1alpha1.ConditionReady).Message
		for _, want := range []string{"stands still in 1 cluster (" + c.clusters.full[0] + ")", "Deployment", "pod web-", "is not scheduled: ", "nodes are available", "; since 20"} {
			if !strings.Contains(message, want) {
				return fmt.Errorf("%q lacks %q", message, want)
			}
		}
		return nil
	})
	c.awaitReleaseCondition(addon, c.clusters.full[0], metav1alpha1.ConditionReady, metav1.ConditionFalse, metav1alpha1.ReasonStandstill)
	expect.Eventually(t, "an Event tells of it once", func(ctx context.Context) error {
		events := &eventsv1.EventList{}
		if err := env.Admin.List(ctx, events, client.InNamespace(c.namespace)); err != nil {
			return err
		}
		told := 0
		for _, one := range events.Items {
			if one.Regarding.Kind == "SaaSAddon" && one.Regarding.Name == addon.Name && one.Reason == metav1alpha1.ReasonStandstill && one.Type == corev1.EventTypeWarning {
				told++
			}
		}
		if told != 1 {
			return fmt.Errorf("%d Events do", told)
		}
		return nil
	})
	c.change(addon, strings.Replace(homeless, "nodeSelector: {disk: none-has-this}", "nodeSelector: {}", 1))
	c.awaitReady(addon)
}
