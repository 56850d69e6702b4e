package saasaddon

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/addoncontent"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/revision"
)

func unchanged(*addonsv1alpha1.SaaSAddon) {}

func TestRolloutNeverExceedsMaxConcurrent(t *testing.T) {
	const clusters, slots = 12, 3
	c := newCustomer(t)
	for i := range clusters {
		c.addCluster(fmt.Sprintf("prod-%02d", i), nil)
	}
	addon := c.addAddon(func(a *addonsv1alpha1.SaaSAddon) { a.Spec.Rollout.MaxConcurrent = slots })

	for _, text := range []string{"one", "two"} {
		c.change(addon, func(a *addonsv1alpha1.SaaSAddon) { a.Spec.Source.Manifests.Inline = text })
		seen := 0
		c.eventually("the rollout of "+text, func() error {
			targets := c.targets()
			waiting := slices.DeleteFunc(slices.Clone(targets), func(target addonsv1alpha1.AddonRelease) bool { return isReady(&target) })
			if len(waiting) > slots {
				c.Fatalf("%d targets are on their way", len(waiting))
			}
			seen = max(seen, len(waiting))
			// None becomes ready before the slots are full: the test may be faster than the controller.
			if len(waiting) > 0 && seen == slots {
				c.say(&waiting[0], metav1.ConditionTrue, metav1alpha1.ReasonSucceeded)
			}
			c.reload(addon)
			if ready := addon.Status.Clusters.Ready; ready.Count != clusters || addon.Status.ObservedGeneration != addon.Generation {
				return fmt.Errorf("%d ready", ready.Count)
			}
			return nil
		})
	}
	c.awaitCondition(addon, metav1alpha1.ConditionReady, metav1.ConditionTrue, metav1alpha1.ReasonSucceeded, "ready in 12 clusters")
}

func TestUnreachableClusterHoldsNobodyUp(t *testing.T) {
	c := newCustomer(t)
	dead := c.addCluster("a-dead", nil)
	c.addCluster("b-alive", nil)
	addon := c.addAddon(func(a *addonsv1alpha1.SaaSAddon) { a.Spec.Rollout.MaxConcurrent = 1 })
	first := c.awaitTargets(addon, 1)
	if first[0].Spec.ClusterRef.Name != "a-dead" {
		t.Fatalf("rolled out to %v first", first[0].Spec.ClusterRef)
	}

	c.connect(dead, metav1.ConditionFalse)
	for _, target := range c.awaitTargets(addon, 2) {
		if target.Spec.ClusterRef.Name == "b-alive" {
			c.say(&target, metav1.ConditionTrue, metav1alpha1.ReasonSucceeded)
		}
	}
	c.awaitCondition(addon, metav1alpha1.ConditionReady, metav1.ConditionUnknown, metav1alpha1.ReasonClusterUnreachable, "no answer from 1 cluster (a-dead)", "1 ready")

	before := addon.Status.Revision
	c.change(addon, func(a *addonsv1alpha1.SaaSAddon) { a.Spec.Source.Manifests.Inline = "two" })
	target := c.awaitTargets(addon, 1)[0]
	if target.Spec.ClusterRef.Name != "b-alive" || addon.Status.Revision == before {
		t.Fatalf("revision %s went to %v", addon.Status.Revision, target.Spec.ClusterRef)
	}
	c.say(&target, metav1.ConditionTrue, metav1alpha1.ReasonSucceeded)

	c.connect(dead, metav1.ConditionTrue)
	c.awaitTargets(addon, 2)
}

func TestMissingConfigMapIsNamedAndRecovers(t *testing.T) {
	c := newCustomer(t)
	c.addCluster("prod", nil)
	addon := c.addAddon(unchanged)
	old := c.awaitTargets(addon, 1)[0]

	c.change(addon, func(a *addonsv1alpha1.SaaSAddon) {
		a.Spec.Source.Manifests.ConfigMapRefs = []metav1alpha1.LocalReference{{Name: "more"}}
	})
	c.awaitCondition(addon, metav1alpha1.ConditionStalled, metav1.ConditionTrue, metav1alpha1.ReasonReferenceNotFound, "ConfigMap "+c.namespace+"/more", "does not exist")
	c.reload(&old)
	if old.Spec.Revision != addon.Status.Revision {
		t.Errorf("the target moved to %s", old.Spec.Revision)
	}

	more := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: "more"}, Data: map[string]string{"b": "second", "a": "first"}}
	c.must(c.Create(c.ctx, more))
	c.awaitCondition(addon, metav1alpha1.ConditionReady, metav1.ConditionFalse, metav1alpha1.ReasonRollingOut)
	c.awaitContent(addon, "one", "first", "second")

	more.Data["a"] = "changed"
	c.must(c.Update(c.ctx, more))
	c.awaitContent(addon, "one", "changed", "second")
}

// awaitContent waits for a target whose revision has these texts.
func (c *customer) awaitContent(addon *addonsv1alpha1.SaaSAddon, texts ...string) {
	c.Helper()
	c.eventually("content "+strings.Join(texts, ", "), func() error {
		c.reload(addon)
		for _, target := range c.targets() {
			content := c.read(target.Spec.Revision)
			var found []string
			for _, source := range content.Sources {
				found = append(found, source.Text)
			}
			if !slices.Equal(found, texts) {
				return fmt.Errorf("found %v", found)
			}
		}
		return nil
	})
}

func (c *customer) read(name string) addoncontent.Content {
	c.Helper()
	encoded, err := revision.Read(c.ctx, c.Client, client.ObjectKey{Namespace: c.namespace, Name: name})
	c.must(err)
	content := addoncontent.Content{}
	c.must(json.Unmarshal(encoded, &content))
	return content
}

func TestDeletionWaitsForTargets(t *testing.T) {
	c := newCustomer(t)
	c.addCluster("a", nil)
	c.addCluster("b", nil)
	addon := c.addAddon(unchanged)
	targets := c.awaitTargets(addon, 2)

	c.change(addon, func(a *addonsv1alpha1.SaaSAddon) { a.Spec.DeletionPolicy = metav1alpha1.DeletionPolicyOrphan })
	c.must(c.Delete(c.ctx, addon))
	c.awaitCondition(addon, metav1alpha1.ConditionReady, metav1.ConditionFalse, metav1alpha1.ReasonDeleting, "2 clusters (a, b)")
	for _, target := range c.targets() {
		if target.DeletionTimestamp.IsZero() || target.Spec.DeletionPolicy != metav1alpha1.DeletionPolicyOrphan {
			t.Errorf("%s: deleted %v, deletion policy %s", target.Name, target.DeletionTimestamp, target.Spec.DeletionPolicy)
		}
	}

	c.removeFinalizer(&targets[0])
	c.awaitCondition(addon, metav1alpha1.ConditionReady, metav1.ConditionFalse, metav1alpha1.ReasonDeleting, "1 cluster (b)")
	c.removeFinalizer(&targets[1])
	c.eventually("the add-on is gone", func() error {
		if err := c.Get(c.ctx, client.ObjectKeyFromObject(addon), addon); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is not: %v", err)
		}
		return nil
	})
	secrets := &corev1.SecretList{}
	c.must(c.List(c.ctx, secrets, client.InNamespace(c.namespace)))
	if len(secrets.Items) > 0 {
		t.Errorf("%d revisions are left", len(secrets.Items))
	}
}

func TestADeletionThatHadNoEffectIsSentAgain(t *testing.T) {
	t.Parallel()
	c := newCustomer(t)
	c.addCluster("a", nil)
	addon := c.addAddon(unchanged)
	target := c.awaitTargets(addon, 1)[0]
	ineffective.Store(target.Name, true)
	c.must(c.Delete(c.ctx, addon))
	c.awaitBeingDeleted(&target)
	if _, unsent := ineffective.Load(target.Name); unsent {
		t.Error("no deletion was without effect")
	}
}

func TestClusterThatIsNotSelectedAnyMoreLosesItsTarget(t *testing.T) {
	c := newCustomer(t)
	gold := map[string]string{"tier": "gold", "daytwo.dev/cluster-id": "x"}
	prod := c.addCluster("prod", gold)
	c.addCluster("test", nil)
	addon := c.addAddon(func(a *addonsv1alpha1.SaaSAddon) {
		a.Spec.ClusterSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "gold"}}
	})
	target := c.awaitTargets(addon, 1)[0]
	parameters := target.Spec.Cluster
	if parameters.Version != "1.36" || len(parameters.Labels) != 1 || parameters.Labels["tier"] != "gold" {
		t.Errorf("facts are %+v", parameters)
	}

	c.reload(prod)
	prod.Labels = nil
	c.must(c.Update(c.ctx, prod))
	c.awaitBeingDeleted(&target)
	c.awaitCondition(addon, metav1alpha1.ConditionReady, metav1.ConditionTrue, metav1alpha1.ReasonNoClusters, "still to be removed from 1 cluster (prod)")
}

func TestCustomerCannotSelectAcrossNamespaces(t *testing.T) {
	c, other := newCustomer(t), newCustomer(t)
	provider := map[string]string{metav1alpha1.ProviderLabelPrefix + "tier": c.namespace}
	other.addCluster("theirs", provider)
	addon := c.addAddon(func(a *addonsv1alpha1.SaaSAddon) { a.Spec.ClusterNamespaceSelector = &metav1.LabelSelector{} })
	c.awaitCondition(addon, metav1alpha1.ConditionStalled, metav1.ConditionTrue, metav1alpha1.ReasonSelectorNotAllowed, "spec.clusterNamespaceSelector", providerNamespace)
	if targets := c.targets(); len(targets) > 0 {
		t.Fatalf("targets %v", targets)
	}

	// The provider can, by its own labels.
	ops := &customer{T: t, Client: c.Client, ctx: c.ctx, namespace: providerNamespace}
	err := ops.Create(ops.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: providerNamespace}})
	ops.must(client.IgnoreAlreadyExists(err))
	theirs := ops.addAddon(func(a *addonsv1alpha1.SaaSAddon) {
		a.Spec.ClusterNamespaceSelector = &metav1.LabelSelector{}
		a.Spec.ClusterSelector = &metav1.LabelSelector{MatchLabels: provider}
	})
	target := ops.awaitTargets(theirs, 1)[0]
	if target.Spec.ClusterRef != (metav1alpha1.ClusterReference{Namespace: other.namespace, Name: "theirs"}) {
		t.Errorf("selected %v", target.Spec.ClusterRef)
	}
}

func TestRevisionIsCompleteAndImmutable(t *testing.T) {
	c := newCustomer(t)
	c.addCluster("prod", nil)
	// Numbers without a pattern: even compressed they fill more than one Secret.
	large := func(seed int) string {
		var text strings.Builder
		for i := 0; text.Len() < 900_000; i++ {
			fmt.Fprintf(&text, "%x ", (i+seed)*2654435761)
		}
		return text.String()
	}
	refs := []metav1alpha1.LocalReference{}
	for i := range 3 {
		name := fmt.Sprintf("large-%d", i)
		refs = append(refs, metav1alpha1.LocalReference{Name: name})
		c.must(c.Create(c.ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: name}, Data: map[string]string{"all": large(i)}}))
	}
	addon := c.addAddon(func(a *addonsv1alpha1.SaaSAddon) { a.Spec.Source.Manifests.ConfigMapRefs = refs })
	target := c.awaitTargets(addon, 1)[0]
	content := c.read(target.Spec.Revision)
	if len(content.Sources) != 4 || content.Sources[3].Text != large(2) || content.Namespace != "default" {
		t.Fatalf("%d sources", len(content.Sources))
	}

	secrets := &corev1.SecretList{}
	c.must(c.List(c.ctx, secrets, client.InNamespace(c.namespace), client.MatchingLabels{metav1alpha1.LabelPolicy: addon.Name}))
	if len(secrets.Items) < 3 {
		t.Errorf("only %d Secrets", len(secrets.Items))
	}
	for _, secret := range secrets.Items {
		if owner := metav1.GetControllerOf(&secret); owner == nil || owner.UID != addon.UID {
			t.Errorf("%s: owner %v", secret.Name, owner)
		}
		secret.Data["content.gz"] = []byte("other")
		if err := c.Update(c.ctx, &secret); !apierrors.IsInvalid(err) {
			t.Errorf("%s could be changed: %v", secret.Name, err)
		}
	}

	// A revision that somebody removes is written again.
	c.must(c.Delete(c.ctx, &secrets.Items[1]))
	c.eventually("the Secret is back", func() error {
		return c.Get(c.ctx, client.ObjectKeyFromObject(&secrets.Items[1]), &corev1.Secret{})
	})
}

func TestSettingsReachTargetsWithoutARollout(t *testing.T) {
	c := newCustomer(t)
	c.addCluster("a", nil)
	c.addCluster("b", nil)
	addon := c.addAddon(func(a *addonsv1alpha1.SaaSAddon) { a.Spec.Rollout.MaxConcurrent = 2 })
	before := c.awaitTargets(addon, 2)[0].Spec.Revision

	c.change(addon, func(a *addonsv1alpha1.SaaSAddon) {
		a.Spec.Rollout.MaxConcurrent = 1
		a.Spec.Suspend = true
		a.Spec.Drift.Mode = metav1alpha1.DriftReport
		a.Annotations = map[string]string{metav1alpha1.AnnotationRequestedAt: "now"}
		a.Spec.Source.Manifests.Inline = "two"
	})
	c.eventually("the settings are there", func() error {
		for _, target := range c.targets() {
			if !target.Spec.Suspend || target.Spec.Drift.Mode != metav1alpha1.DriftReport || target.Spec.RequestedAt != "now" {
				return fmt.Errorf("%s has %+v", target.Name, target.Spec)
			}
			if target.Spec.Revision != before {
				c.Fatalf("%s moved to %s", target.Name, target.Spec.Revision)
			}
		}
		return nil
	})
	c.awaitCondition(addon, metav1alpha1.ConditionReady, metav1.ConditionFalse, metav1alpha1.ReasonSuspended, "suspended")
}

func TestAbandonedTargetIsRecorded(t *testing.T) {
	c := newCustomer(t)
	gone := c.addCluster("gone", nil)
	addon := c.addAddon(unchanged)
	target := c.awaitTargets(addon, 1)[0]
	target.Status.Inventory = []metav1alpha1.InventoryEntry{{ID: "v1/Namespace//cache"}, {ID: "apps/v1/Deployment/cache/web"}}
	c.say(&target, metav1.ConditionUnknown, metav1alpha1.ReasonClusterUnreachable)

	c.must(c.Delete(c.ctx, gone))
	c.awaitBeingDeleted(&target)
	base := target.DeepCopy()
	target.Annotations = map[string]string{metav1alpha1.AnnotationAbandon: "true"}
	c.must(c.Patch(c.ctx, &target, client.MergeFrom(base)))
	contested.Store(addon.Name, true)
	c.removeFinalizer(&target) // At once, as its controller does.

	c.eventually("it is recorded", func() error {
		c.reload(addon)
		if len(addon.Status.Abandoned) != 1 {
			return fmt.Errorf("found %v", addon.Status.Abandoned)
		}
		return nil
	})
	if _, unmet := contested.Load(addon.Name); unmet {
		t.Error("no write of the record met a conflict")
	}
	record := addon.Status.Abandoned[0]
	if record.Cluster != target.Spec.ClusterRef || record.Objects.Count != 2 || record.Objects.Names[0] != "apps/v1/Deployment/cache/web" {
		t.Errorf("recorded %+v", record)
	}
}
