package saasaddon

import (
	"context"
	"fmt"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/render"
	"github.com/daytwo-dev/daytwo/controllers/saasaddon/try"
)

// triedOnly renders for the namespaces in tried: the content of most tests is no manifest.
type triedOnly struct{ try.Renderer }

var tried sync.Map

// Render implements try.Renderer.
func (o triedOnly) Render(ctx context.Context, request render.Request) ([]*unstructured.Unstructured, error) {
	if _, wanted := tried.Load(request.Tenant); !wanted {
		return nil, nil
	}
	return o.Renderer.Render(ctx, request)
}

func newTriedCustomer(t *testing.T) *customer {
	t.Helper()
	t.Parallel()
	c := newCustomer(t)
	tried.Store(c.namespace, true)
	return c
}

const tieredConfigMap = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\ndata:\n  tier: %s\n"

func inline(text string) func(*addonsv1alpha1.SaaSAddon) {
	return func(addon *addonsv1alpha1.SaaSAddon) { addon.Spec.Source.Manifests.Inline = text }
}

func TestContentThatCanBeRenderedNowhereTakesNoSlot(t *testing.T) {
	c := newTriedCustomer(t)
	c.addCluster("a", nil)
	c.addCluster("b", nil)
	addon := c.addAddon(inline(fmt.Sprintf(tieredConfigMap, "gold")))
	targets := c.awaitTargets(addon, 2)
	good := targets[0].Spec.Revision
	for _, broken := range []struct{ text, says string }{
		{fmt.Sprintf(tieredConfigMap, "{{ nope }}"), "line 6"},
		{fmt.Sprintf(tieredConfigMap, "[gold"), "spec.source.manifests.inline"},
		{fmt.Sprintf(tieredConfigMap, "{{ .Cluster.Labels.tier }}"), "add a missing label to the TenantCluster"},
	} {
		c.change(addon, inline(broken.text))
		c.awaitCondition(addon, metav1alpha1.ConditionStalled, metav1.ConditionTrue, metav1alpha1.ReasonContentInvalid,
			"SaaSAddon cache", "was tried for 2 clusters", "spec.source.manifests.inline", broken.says)
		c.awaitCondition(addon, metav1alpha1.ConditionReady, metav1.ConditionFalse, metav1alpha1.ReasonContentInvalid, "targets stay as they are")
		for _, target := range c.targets() {
			if target.Spec.Revision != good {
				t.Fatalf("%s moved to %s with %q", target.Name, target.Spec.Revision, broken.text)
			}
		}
	}

	// What is missing in all clusters is added to one of them.
	labelled := c.addCluster("c", map[string]string{"tier": "silver"})
	updated := c.awaitTargets(addon, 3)
	if updated[0].Spec.Revision == good {
		t.Errorf("the revision that can be rendered for %s is still %s", labelled.Name, good)
	}

	c.change(addon, inline(fmt.Sprintf(tieredConfigMap, "[silver")))
	c.awaitCondition(addon, metav1alpha1.ConditionStalled, metav1.ConditionTrue, metav1alpha1.ReasonContentInvalid)
	c.change(addon, inline(fmt.Sprintf(tieredConfigMap, "silver")))
	c.awaitTargets(addon, 3)
}

func TestANewAddonThatCanBeRenderedNowhereGetsNoTarget(t *testing.T) {
	c := newTriedCustomer(t)
	c.addCluster("a", nil)
	c.must(c.Create(c.ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: "more"}, Data: map[string]string{"web.yaml": "kind: ["},
	}))
	addon := c.addAddon(func(a *addonsv1alpha1.SaaSAddon) {
		a.Spec.Source.Manifests = &addonsv1alpha1.ManifestSource{ConfigMapRefs: []metav1alpha1.LocalReference{{Name: "more"}}}
	})
	c.awaitCondition(addon, metav1alpha1.ConditionStalled, metav1.ConditionTrue, metav1alpha1.ReasonContentInvalid, "configmap/more/web.yaml")
	if targets := c.targets(); len(targets) > 0 {
		t.Errorf("it has targets: %v", targets)
	}
}
