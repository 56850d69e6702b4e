package e2e

import (
	"context"
	"fmt"
	"log/slog"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"helm.sh/helm/v4/pkg/action"
	helmcommon "helm.sh/helm/v4/pkg/release/common"
	release "helm.sh/helm/v4/pkg/release/v1"
	"helm.sh/helm/v4/pkg/storage/driver"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/e2e/charts"
)

// leftRelease is one that a killed helm left.
type leftRelease struct {
	name    string
	during  helmcommon.Status
	version int
	// found is how it is told, and repaired what helm history says in the end.
	found, repaired string
}

// TestAReleaseThatAKilledHelmLeftIsRepaired finds one in a state that helm itself gets out of only by
// forgetting an object.
func TestAReleaseThatAKilledHelmLeftIsRepaired(t *testing.T) {
	t.Parallel()
	for _, left := range []leftRelease{
		{"installed", helmcommon.StatusPendingInstall, 1, "version 1, pending-install", "1 failed, 2 deployed"},
		{"upgraded", helmcommon.StatusPendingUpgrade, 2, "version 2, pending-upgrade", "1 superseded, 2 failed, 3 deployed"},
		{"uninstalled", helmcommon.StatusUninstalling, 1, "version 1, uninstalling", "1 failed, 2 deployed"},
	} {
		t.Run(left.name, func(t *testing.T) {
			t.Parallel()
			c := newCustomer(t, 0, 1)
			cluster, name := c.clusters.bare[0], types.NamespacedName{Namespace: "default", Name: left.name}
			archive := smallChart("palette", configMaps("palette", "brush")).packed(t)
			served := c.startRegistry(archive)
			_, err := helmOf(t, cluster).Install(t.Context(), name, archive, map[string]any{"color": "red"})
			must(t, err)
			before := c.configMap(cluster, "palette")
			extra := c.killHelm(cluster, name, left.during, left.version)

			addon := c.newChartAddon(left.name, served.OCI(), "palette", charts.FirstVersion)
			addon.Spec.Values = valuesOf(`{"color": "blue"}`)
			c.create(addon)
			refused := c.awaitReleaseCondition(addon, cluster, metav1alpha1.ConditionStalled, metav1.ConditionTrue, metav1alpha1.ReasonConflict)
			must(t, says(message(refused.Status.Conditions, metav1alpha1.ConditionStalled), "default/"+left.name, left.found, "spec.adopt"))
			if found := c.configMap(cluster, "palette"); found.ResourceVersion != before.ResourceVersion {
				t.Error("it was written to although it is somebody else's")
			}
			must(t, c.workload(cluster).Get(t.Context(), client.ObjectKeyFromObject(extra), extra))
			c.adopts(addon, left, before, extra)
			c.uninstall(addon)
			c.awaitNothingLeft(addon)
		})
	}
}

// adopts takes the release over, and compares what is there then.
func (c *customer) adopts(addon *addonsv1alpha1.SaaSAddon, left leftRelease, before, extra *corev1.ConfigMap) {
	c.Helper()
	cluster := c.clusters.bare[0]
	c.update(addon, func(a *addonsv1alpha1.SaaSAddon) { a.Spec.Adopt = true })
	c.awaitReleaseCondition(addon, cluster, metav1alpha1.ConditionReady, metav1.ConditionTrue, "")
	c.awaitReady(addon)
	if found := c.configMap(cluster, before.Name); found.UID != before.UID || found.Data["color"] != "blue" {
		c.Errorf("it was installed anew, or left: UID %s after %s, %v", found.UID, before.UID, found.Data)
	}
	waitGone(c, c.workload(cluster), extra)
	revisions, err := helmOf(c, cluster).History(types.NamespacedName{Namespace: "default", Name: left.name})
	must(c, err)
	if got := describeHistory(revisions); got != left.repaired {
		c.Errorf("helm history is %s, not %s", got, left.repaired)
	}
}

func (c *customer) configMap(cluster, name string) *corev1.ConfigMap {
	c.Helper()
	found := &corev1.ConfigMap{}
	must(c, c.workload(cluster).Get(c.Context(), types.NamespacedName{Namespace: "default", Name: name}, found))
	return found
}

// killHelm leaves a release as a helm does that was killed just after it had made an object that the
// version before does not have.
func (c *customer) killHelm(cluster string, name types.NamespacedName, during helmcommon.Status, version int) *corev1.ConfigMap {
	c.Helper()
	extra := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: name.Namespace, Name: name.Name + "-extra", Labels: map[string]string{"app.kubernetes.io/managed-by": "Helm"},
		Annotations: map[string]string{"meta.helm.sh/release-name": name.Name, "meta.helm.sh/release-namespace": name.Namespace},
	}}
	must(c, c.workload(cluster).Create(c.Context(), extra, client.FieldOwner("helm")))

	record, err := helmOf(c, cluster).Status(name, 0)
	must(c, err)
	record.Version, record.Info.Status, record.Info.Resources = version, during, nil
	record.Manifest += fmt.Sprintf("---\n# Source: palette/templates/extra.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\n", extra.Name)
	clientset, err := kubernetes.NewForConfig(fleetCluster(c, cluster).Config())
	must(c, err)
	records := driver.NewSecrets(clientset.CoreV1().Secrets(name.Namespace))
	records.SetLogger(slog.DiscardHandler)
	must(c, write(records, record))
	return extra
}

func write(records *driver.Secrets, record *release.Release) error {
	key := fmt.Sprintf("sh.helm.release.v1.%s.v%d", record.Name, record.Version)
	if record.Version > 1 {
		return records.Create(key, record)
	}
	return records.Update(key, record)
}

// TestWhatAnotherReleaseTookOverStays lets a person install a chart that takes one of the objects.
func TestWhatAnotherReleaseTookOverStays(t *testing.T) {
	t.Parallel()
	c := newCustomer(t, 0, 1)
	cluster := c.clusters.bare[0]
	served := c.startRegistry(smallChart("pair", configMaps("kept", "taken")).packed(t))
	addon := c.newChartAddon("pair", served.OCI(), "pair", charts.FirstVersion)
	addon.Spec.Drift.Mode = metav1alpha1.DriftReport
	c.create(addon)
	c.awaitReady(addon)

	theirs, helm := types.NamespacedName{Namespace: "default", Name: "theirs"}, helmOf(t, cluster)
	_, err := helm.Install(t.Context(), theirs, smallChart("single", configMaps("taken")).packed(t), map[string]any{"color": "theirs"},
		func(install *action.Install) { install.TakeOwnership, install.ForceConflicts = true, true })
	must(t, err)
	t.Cleanup(func() { _, _, _ = helm.Uninstall(context.Background(), theirs) })
	taken := c.configMap(cluster, "taken")
	// What is taken over is drift: Daytwo would take it back, and so it only reports it here.
	told := c.awaitReleaseCondition(addon, cluster, metav1alpha1.ConditionDrifted, metav1.ConditionTrue, metav1alpha1.ReasonReported)
	must(t, says(message(told.Status.Conditions, metav1alpha1.ConditionDrifted), "helm", "default/taken"))
	c.uninstall(addon)
	left := c.configMap(cluster, "taken")
	if left.UID != taken.UID || left.Data["color"] != "theirs" || left.Annotations["meta.helm.sh/release-name"] != theirs.Name {
		t.Errorf("theirs is not as it was: %s after %s, %v, %v", left.UID, taken.UID, left.Data, left.Annotations)
	}
	err = c.workload(cluster).Get(t.Context(), types.NamespacedName{Namespace: "default", Name: "kept"}, &corev1.ConfigMap{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("ours is still there: %v", err)
	}
	listed, err := helm.List("default")
	must(t, err)
	if len(listed) != 1 || listed[0].Name != theirs.Name {
		t.Errorf("helm list has %+v", listed)
	}
}
