package webhooks

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
)

const (
	tier      = "tier"
	fleetSize = 12
)

// addFleet makes clusters of tier gold, and an add-on of that tier with a target in each, as if its controller had
// rolled it out. It waits until the webhook knows them: nothing would be lost before.
func addFleet(t *testing.T) (*addonsv1alpha1.SaaSAddon, []*tenancyv1alpha1.TenantCluster) {
	t.Helper()
	namespace := newNamespace(t)
	addon := &addonsv1alpha1.SaaSAddon{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "cache"},
		Spec: addonsv1alpha1.SaaSAddonSpec{
			PolicySpec: metav1alpha1.PolicySpec{ClusterSelector: &metav1.LabelSelector{MatchLabels: map[string]string{tier: "gold"}}},
			Source:     addonsv1alpha1.AddonSource{Manifests: &addonsv1alpha1.ManifestSource{Inline: "one"}},
		},
	}
	must(t, admin.Create(t.Context(), addon))
	var clusters []*tenancyv1alpha1.TenantCluster
	for i := range fleetSize {
		cluster := imported(namespace, fmt.Sprintf("prod-%02d", i))
		cluster.Labels = map[string]string{tier: "gold"}
		must(t, admin.Create(t.Context(), cluster))
		must(t, admin.Create(t.Context(), &addonsv1alpha1.AddonRelease{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: namespace, Name: "cache-" + cluster.Name,
				Labels: map[string]string{metav1alpha1.LabelPolicy: "cache", metav1alpha1.LabelCluster: cluster.Name, metav1alpha1.LabelClusterNamespace: namespace},
			},
			Spec: addonsv1alpha1.AddonReleaseSpec{TargetSpec: metav1alpha1.TargetSpec{ClusterRef: metav1alpha1.ClusterReference{Namespace: namespace, Name: cluster.Name}, Revision: "one"}},
		}))
		clusters = append(clusters, cluster)
	}
	expect.Eventually(t, "the webhook knows all targets", func(ctx context.Context) error {
		known := &addonsv1alpha1.AddonReleaseList{}
		err := served.GetClient().List(ctx, known, client.InNamespace(namespace))
		if err == nil && len(known.Items) != fleetSize {
			err = fmt.Errorf("it knows %d", len(known.Items))
		}
		return err
	})
	awaitSelected(t, namespace, "gold", fleetSize)
	return addon, clusters
}

// awaitSelected waits until the webhook knows that so many clusters are of a tier.
func awaitSelected(t *testing.T, namespace, value string, count int) {
	t.Helper()
	expect.Eventually(t, "the webhook knows all clusters", func(ctx context.Context) error {
		known := &tenancyv1alpha1.TenantClusterList{}
		err := served.GetClient().List(ctx, known, client.InNamespace(namespace), client.MatchingLabels{tier: value})
		if err == nil && len(known.Items) != count {
			err = fmt.Errorf("it knows %d", len(known.Items))
		}
		return err
	})
}

// edit changes an add-on as it is now.
func edit(t *testing.T, addon *addonsv1alpha1.SaaSAddon, how func(*addonsv1alpha1.SaaSAddon), options ...client.PatchOption) error {
	t.Helper()
	must(t, admin.Get(t.Context(), client.ObjectKeyFromObject(addon), addon))
	before := addon.DeepCopy()
	how(addon)
	return admin.Patch(t.Context(), addon, client.MergeFrom(before), options...)
}

func selectTier(value string) func(*addonsv1alpha1.SaaSAddon) {
	return func(addon *addonsv1alpha1.SaaSAddon) { addon.Spec.ClusterSelector.MatchLabels[tier] = value }
}

func selectNames(clusters []*tenancyv1alpha1.TenantCluster) func(*addonsv1alpha1.SaaSAddon) {
	return func(addon *addonsv1alpha1.SaaSAddon) {
		addon.Spec.ClusterSelector, addon.Spec.ClusterNames = nil, nil
		for _, cluster := range clusters {
			addon.Spec.ClusterNames = append(addon.Spec.ClusterNames, cluster.Name)
		}
	}
}

func TestASelectorEditThatWouldLoseTooManyClustersIsRefusedAtOnce(t *testing.T) {
	addon, clusters := addFleet(t)
	expectRefusal(t, edit(t, addon, selectTier("glod")),
		"spec.clusterSelector", "12 of 12 clusters would lose their target", "the 3 allowed within an hour",
		`daytwo.dev/confirm-withdrawal: "12"`, "together with it")
	expectRefusal(t, edit(t, addon, selectNames(clusters[4:])), "spec.clusterSelector", "4 of 12 clusters")
	must(t, admin.Get(t.Context(), client.ObjectKeyFromObject(addon), addon))
	if addon.Generation != 1 {
		t.Errorf("the add-on has generation %d", addon.Generation)
	}
	if err := edit(t, addon, selectNames(clusters[3:]), client.DryRunAll); err != nil {
		t.Errorf("losing three, as the guard allows, is refused: %v", err)
	}
	if err := edit(t, addon, selectNames(clusters), client.DryRunAll); err != nil {
		t.Errorf("selecting the same otherwise is refused: %v", err)
	}
	if err := edit(t, addon, selectTier("glod")); strings.Contains(fmt.Sprint(err), "prod-0") {
		t.Errorf("the refusal names clusters: %v", err)
	}
	confirmed := func(number string) func(*addonsv1alpha1.SaaSAddon) {
		return func(addon *addonsv1alpha1.SaaSAddon) {
			selectTier("silver")(addon)
			addon.Annotations = map[string]string{metav1alpha1.AnnotationConfirmWithdrawal: number}
		}
	}
	expectRefusal(t, edit(t, addon, confirmed("11")), `(it says "11")`)
	if err := edit(t, addon, confirmed("12")); err != nil {
		t.Errorf("what is confirmed is refused: %v", err)
	}
}

// Labels are edited one by one, and so only the planner can count what is lost by them; what it holds back already
// keeps nobody from mending it.
func TestAnAddonWhoseWithdrawalIsHeldBackCanBeEdited(t *testing.T) {
	addon, clusters := addFleet(t)
	for _, cluster := range clusters {
		before := cluster.DeepCopy()
		cluster.Labels[tier] = "silver"
		if err := admin.Patch(t.Context(), cluster, client.MergeFrom(before)); err != nil {
			t.Fatalf("an edit of a label is refused: %v", err)
		}
	}
	awaitSelected(t, addon.Namespace, "gold", 0)
	for name, how := range map[string]func(*addonsv1alpha1.SaaSAddon){
		"another field":              func(addon *addonsv1alpha1.SaaSAddon) { addon.Spec.Suspend = true },
		"losing as many":             selectTier("glod"),
		"losing fewer, but too many": selectNames(clusters[6:]),
		"losing none":                selectTier("silver"),
	} {
		if err := edit(t, addon, how, client.DryRunAll); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Selectors that the controller refuses select what they selected before.
func TestSelectorsThatAreRefusedLoseNothing(t *testing.T) {
	addon, _ := addFleet(t)
	err := edit(t, addon, func(addon *addonsv1alpha1.SaaSAddon) {
		addon.Spec.ClusterSelector = nil
		addon.Spec.ClusterNames = []string{strings.Repeat("x", 8)}
		addon.Spec.ClusterNamespaceSelector = &metav1.LabelSelector{}
	}, client.DryRunAll)
	if err != nil {
		t.Errorf("it is refused: %v", err)
	}
}

func TestAGuardBeyondTheProvidersIsRefused(t *testing.T) {
	addon, _ := addFleet(t)
	guard := func(clusters, percent int32) func(*addonsv1alpha1.SaaSAddon) {
		return func(a *addonsv1alpha1.SaaSAddon) {
			a.Spec.WithdrawalGuard = metav1alpha1.WithdrawalGuard{MaxClusters: clusters, MaxPercent: &percent}
		}
	}
	const refused = "the provider bounds it to maxClusters: 10 and maxPercent: 20"
	for name, change := range map[string]func(*addonsv1alpha1.SaaSAddon){"more clusters": guard(100000, 50), "a larger share": guard(10, 100)} {
		if err := edit(t, addon, change); err == nil {
			t.Errorf("%s: it may", name)
		}
	}
	must(t, edit(t, addon, guard(10, 50)))
	must(t, edit(t, addon, guard(1, 0)))

	loose := addon.DeepCopy()
	loose.ObjectMeta = metav1.ObjectMeta{Namespace: addon.Namespace, Name: "loose"}
	guard(11, 20)(loose)
	if err := admin.Create(t.Context(), loose); err == nil || !strings.Contains(err.Error(), refused) {
		t.Errorf("created with a loose one: %v", err)
	}
	must(t, client.IgnoreAlreadyExists(admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: providerNamespace}})))
	loose.Namespace, loose.ResourceVersion = providerNamespace, ""
	must(t, admin.Create(t.Context(), loose))
	must(t, admin.Delete(t.Context(), loose))
}

func TestSelectorsThatMatchNothingAreWarnedOf(t *testing.T) {
	namespace := newNamespace(t)
	cluster := imported(namespace, "prod")
	cluster.Labels = map[string]string{tier: "gold"}
	must(t, admin.Create(t.Context(), cluster))
	awaitSelected(t, namespace, "gold", 1)
	addon := &addonsv1alpha1.SaaSAddon{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "cache"},
		Spec: addonsv1alpha1.SaaSAddonSpec{
			PolicySpec: metav1alpha1.PolicySpec{ClusterSelector: &metav1.LabelSelector{MatchLabels: map[string]string{tier: "gold"}}},
			Source:     addonsv1alpha1.AddonSource{Manifests: &addonsv1alpha1.ManifestSource{Inline: "one"}},
		},
	}
	misspelled := addon.DeepCopy()
	misspelled.Name = "misspelled"
	selectTier("glod")(misspelled)
	warnings := func(write func(ctx context.Context)) string {
		ctx, collected := collecting(t.Context())
		write(ctx)
		return strings.Join(collected.all(), "\n")
	}
	if said := warnings(func(ctx context.Context) { must(t, admin.Create(ctx, misspelled)) }); !strings.Contains(said, "no TenantCluster is selected") {
		t.Errorf("a new add-on that selects nothing: %q", said)
	}
	if said := warnings(func(ctx context.Context) { must(t, admin.Create(ctx, addon)) }); said != "" {
		t.Errorf("one that selects a cluster: %q", said)
	}
	if said := warnings(func(ctx context.Context) {
		before := addon.DeepCopy()
		selectTier("silver")(addon)
		must(t, admin.Patch(ctx, addon, client.MergeFrom(before)))
	}); !strings.Contains(said, "no TenantCluster is selected") {
		t.Errorf("an edit after which it selects nothing: %q", said)
	}
}
