package addonrelease

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

func TestAMeshMayTurnItsWebhookToFail(t *testing.T) {
	t.Parallel()
	a := newChartParts(t)
	webhook := a.part(admission, "ValidatingWebhookConfiguration", a.name)
	a.edit(webhook, "pilot-discovery", types.JSONPatchType, `[{"op":"replace","path":"/webhooks/0/failurePolicy","value":"Fail"}]`)
	a.waitTolerated(map[string]int32{"pilot-discovery": 1, "clusterrole-aggregation-controller": 1})
	// What somebody else changes in the same object is taken back, and only that; so is what the mesh may not.
	a.edit(webhook, "kubectl-edit", types.JSONPatchType, `[{"op":"replace","path":"/webhooks/0/sideEffects","value":"NoneOnDryRun"}]`)
	a.waitBlamed("admissionregistration.k8s.io/v1/ValidatingWebhookConfiguration//"+a.name, "kubectl-edit")
	a.edit(webhook, "pilot-discovery", types.JSONPatchType, `[{"op":"replace","path":"/webhooks/0/sideEffects","value":"NoneOnDryRun"}]`)
	a.waitBlamed("admissionregistration.k8s.io/v1/ValidatingWebhookConfiguration//"+a.name, "pilot-discovery")
	a.apply(strings.Replace(partsOfAChart(a.name), "admissionReviewVersions: [v1]", "admissionReviewVersions: [v1]\n    timeoutSeconds: 7", 1))
	a.waitReady()
	if err := a.fetch(webhook); err != nil {
		t.Fatal(err)
	}
	hooks, _, _ := unstructured.NestedSlice(webhook.Object, "webhooks")
	hook := hooks[0].(map[string]any)
	if hook["failurePolicy"] != "Fail" || hook["sideEffects"] != "None" || hook["timeoutSeconds"] != int64(7) {
		t.Errorf("got %v", hook)
	}
	// A person who sets it is no mesh.
	a.edit(webhook, "kubectl-edit", types.JSONPatchType, `[{"op":"replace","path":"/webhooks/0/failurePolicy","value":"Ignore"}]`)
	eventually(t, "the field is Daytwo's again", func() (bool, string) {
		err := a.fetch(webhook)
		return err == nil && !slices.ContainsFunc(webhook.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool { return entry.Manager == "kubectl-edit" }),
			fmt.Sprint(err, webhook.GetManagedFields())
	})
}

func TestARolloutRestartStaysAndNothingElseOfIt(t *testing.T) {
	t.Parallel()
	a := newAddon(t, webAndSettings)
	a.waitReady()
	web := a.deployment()
	a.edit(web, "kubectl-rollout", types.MergePatchType, `{"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":"now"}}}}}`)
	a.waitTolerated(map[string]int32{"kubectl-rollout": 1})
	if restarted := web.Generation; a.fetch(web) != nil || web.Generation != restarted || a.get().Status.Drift.Count != 0 {
		t.Fatalf("the restart was not left alone: %+v", a.get().Status.Drift)
	}
	a.edit(web, "kubectl-rollout", types.MergePatchType, `{"spec":{"paused":true}}`)
	if got := a.waitBlamed("apps/v1/Deployment/"+a.namespace+"/web", "kubectl-rollout"); !slices.Equal(got.Fields, []string{".spec.paused"}) {
		t.Errorf("taken back: %v", got.Fields)
	}
	eventually(t, "the pause is taken back, and the restart is not", func() (bool, string) {
		err := a.fetch(web)
		return err == nil && !web.Spec.Paused && web.Spec.Template.Annotations["kubectl.kubernetes.io/restartedAt"] == "now", fmt.Sprint(err, web.Spec)
	})
	a.edit(web, "kubectl-edit", types.MergePatchType, `{"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":"later"}}}}}`)
	eventually(t, "the same annotation by another tool is taken back", func() (bool, string) {
		err := a.fetch(web)
		return err == nil && len(web.Spec.Template.Annotations) == 0, fmt.Sprint(err, web.Spec.Template.Annotations)
	})
}
