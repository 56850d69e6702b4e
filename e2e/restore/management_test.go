package restore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
)

// TestARestoredManagementClusterDeletesNothing rolls out a revision with one object more, and a second add-on, and then
// puts the management cluster back to before both. What no record has any more stays in the workload cluster, and is
// adopted when people declare it again.
func TestARestoredManagementClusterDeletesNothing(t *testing.T) {
	first := newAddon("first", "1", "kept", "changed")
	create(t, first)
	awaitReady(t, first)
	snapshot, err := env.Fleet.Management().Snapshot(t.Context())
	must(t, err)

	change(t, first, "2", "kept", "changed", "added")
	second := newAddon("second", "1", "later")
	create(t, second)
	awaitReady(t, first)
	awaitReady(t, second)
	uids := configMapUIDs(t)

	must(t, env.Fleet.Management().Restore(t.Context(), snapshot))
	expect.Eventually(t, "the manager notices it, and ends", func(context.Context) error {
		if pid := env.Manager.PID(); pid != 0 {
			return fmt.Errorf("it runs as process %d", pid)
		}
		return nil
	})
	must(t, env.Manager.Start(t.Context()))
	expect.Eventually(t, "the old revision is back", func(ctx context.Context) error {
		return dataIs(ctx, map[string]string{"kept": "1", "changed": "1", "added": "2", "later": "1"})
	})
	awaitReady(t, first)
	expect.Eventually(t, "what no add-on has on record is reported", func(ctx context.Context) error {
		return unrecorded(ctx, "2 objects carry this installation's label", "ConfigMap default/added, ConfigMap default/later")
	})

	change(t, first, "2", "kept", "changed", "added")
	second.ObjectMeta = metav1.ObjectMeta{Namespace: second.Namespace, Name: second.Name}
	create(t, second)
	awaitReady(t, first)
	awaitReady(t, second)
	must(t, dataIs(t.Context(), map[string]string{"kept": "2", "changed": "2", "added": "2", "later": "1"}))
	if now := configMapUIDs(t); !maps.Equal(now, uids) {
		t.Errorf("objects were made anew: %v, and before %v", now, uids)
	}
	records(t, first, "added", "changed", "kept")
	records(t, second, "later")
	expect.Eventually(t, "nothing is reported any more", func(ctx context.Context) error {
		if err := unrecorded(ctx, ""); err == nil {
			return errors.New("the condition is still there")
		}
		return nil
	})
}

// unrecorded complains unless the cluster has the condition UnrecordedObjects with these words. It asks for a probe of
// the cluster once a second, in the place of one a minute.
func unrecorded(ctx context.Context, words ...string) error {
	cluster := &tenancyv1alpha1.TenantCluster{ObjectMeta: metav1.ObjectMeta{Namespace: customer, Name: workload}}
	now := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, metav1alpha1.AnnotationRequestedAt, time.Now().Truncate(time.Second))
	if err := env.Admin.Patch(ctx, cluster, client.RawPatch(types.MergePatchType, now)); err != nil {
		return err
	}
	conditions := cluster.Status.Conditions
	if err := expect.Condition(conditions, tenancyv1alpha1.ConditionUnrecordedObjects, metav1.ConditionTrue, ""); err != nil {
		return err
	}
	message := meta.FindStatusCondition(conditions, tenancyv1alpha1.ConditionUnrecordedObjects).Message
	for _, word := range words {
		if !strings.Contains(message, word) {
			return fmt.Errorf("it says %q, without %q", message, word)
		}
	}
	return nil
}

func newAddon(name, value string, configMaps ...string) *addonsv1alpha1.SaaSAddon {
	return &addonsv1alpha1.SaaSAddon{
		ObjectMeta: metav1.ObjectMeta{Namespace: customer, Name: name},
		Spec: addonsv1alpha1.SaaSAddonSpec{
			PolicySpec: metav1alpha1.PolicySpec{ClusterNames: []string{workload}}, Namespace: "default",
			Source: addonsv1alpha1.AddonSource{Manifests: &addonsv1alpha1.ManifestSource{Inline: manifests(value, configMaps)}},
		},
	}
}

func manifests(value string, configMaps []string) string {
	text := ""
	for _, name := range configMaps {
		text += fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: {value: %q}\n---\n", name, value)
	}
	return text
}

func create(t *testing.T, addon *addonsv1alpha1.SaaSAddon) {
	t.Helper()
	must(t, env.Admin.Create(t.Context(), addon))
}

func change(t *testing.T, addon *addonsv1alpha1.SaaSAddon, value string, configMaps ...string) {
	t.Helper()
	must(t, env.Admin.Get(t.Context(), client.ObjectKeyFromObject(addon), addon))
	before := addon.DeepCopy()
	addon.Spec.Source.Manifests.Inline = manifests(value, configMaps)
	must(t, env.Admin.Patch(t.Context(), addon, client.MergeFrom(before)))
}

func awaitReady(t *testing.T, addon *addonsv1alpha1.SaaSAddon) {
	t.Helper()
	expect.Eventually(t, "SaaSAddon "+addon.Name+" is ready", func(ctx context.Context) error {
		if err := env.Admin.Get(ctx, client.ObjectKeyFromObject(addon), addon); err != nil {
			return err
		}
		if addon.Status.ObservedGeneration != addon.Generation {
			return fmt.Errorf("generation %d was seen, of %d", addon.Status.ObservedGeneration, addon.Generation)
		}
		return expect.Condition(addon.Status.Conditions, metav1alpha1.ConditionReady, metav1.ConditionTrue, "")
	})
}

// ours lists the ConfigMaps that Daytwo applied.
func ours(ctx context.Context) ([]corev1.ConfigMap, error) {
	admin, err := env.Workload(workload)
	if err != nil {
		return nil, err
	}
	list := &corev1.ConfigMapList{}
	err = admin.List(ctx, list, client.HasLabels{metav1alpha1.LabelManagedBy})
	return list.Items, err
}

func dataIs(ctx context.Context, want map[string]string) error {
	found, err := ours(ctx)
	if err != nil {
		return err
	}
	got := map[string]string{}
	for _, one := range found {
		got[one.Name] = one.Data["value"]
	}
	if !maps.Equal(got, want) {
		return fmt.Errorf("there is %v, and not %v", got, want)
	}
	return nil
}

func configMapUIDs(t *testing.T) map[string]string {
	t.Helper()
	found, err := ours(t.Context())
	must(t, err)
	uids := map[string]string{}
	for _, one := range found {
		uids[one.Name] = string(one.UID)
	}
	return uids
}

// records complains unless the add-on's inventory has these ConfigMaps.
func records(t *testing.T, addon *addonsv1alpha1.SaaSAddon, want ...string) {
	t.Helper()
	list := &addonsv1alpha1.AddonReleaseList{}
	must(t, env.Admin.List(t.Context(), list, client.InNamespace(customer), client.MatchingLabels{metav1alpha1.LabelPolicy: addon.Name}))
	var got []string
	for _, release := range list.Items {
		for _, entry := range release.Status.Inventory {
			got = append(got, entry.ID[strings.LastIndex(entry.ID, "/")+1:])
		}
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("the inventory of %s is %v, and not %v", addon.Name, got, want)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
