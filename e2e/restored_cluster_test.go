package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
	"github.com/daytwo-dev/daytwo/tools/local/localfleet"
)

// TestAClusterRestoredFromASnapshotIsBroughtBackToWhatIsDeclared puts the etcd of a cluster back to before a rollout,
// under a manager that runs on.
func TestAClusterRestoredFromASnapshotIsBroughtBackToWhatIsDeclared(t *testing.T) {
	t.Parallel()
	const name = "restored"
	cluster, err := env.Fleet.AddCluster(t.Context(), name, localfleet.ClusterOptions{Bare: true, OwnEtcd: true})
	must(t, err)
	t.Cleanup(func() { must(t, cluster.Stop(context.Background())) })
	c := moveIn(t, lent{bare: []string{name}})
	manifests := c.newAddon("plain", fmt.Sprintf(oneConfigMap, "blue")+"---\n"+configMapNamed("removed"))
	must(t, env.Admin.Create(t.Context(), manifests))
	chart := c.newChartAddon("painted", c.startRegistry(smallChart("painted", paintedFiles()).packed(t)).OCI(), "painted", "1.0.0")
	chart.Spec.Values = valuesOf(`{"color": "blue"}`)
	c.create(chart)
	c.awaitReady(manifests)
	c.awaitReady(chart)

	before, err := cluster.Snapshot(t.Context())
	must(t, err)
	c.change(manifests, fmt.Sprintf(oneConfigMap, "green")+"---\n"+configMapNamed("added"))
	c.update(chart, func(addon *addonsv1alpha1.SaaSAddon) { addon.Spec.Values = valuesOf(`{"color": "green"}`) })
	c.awaitReady(manifests)
	c.awaitReady(chart)
	pid := env.Manager.PID()

	must(t, cluster.Restore(t.Context(), before))
	c.awaitColors(name, "green", "settings", "added", "palette", "made-by-upgrade")
	for _, undeclared := range []string{"only-blue", "removed"} {
		waitGone(t, c.workload(name), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: undeclared}})
	}
	c.awaitEvent("RemovedAgain", "a snapshot had brought back to "+name, "default/removed")
	expect.Eventually(t, "Helm sees the release that is declared", func(context.Context) error {
		status, err := helmOf(t, name).Status(types.NamespacedName{Namespace: "default", Name: "painted"}, 0)
		if err != nil {
			return err
		}
		if status.Info.Status != "deployed" || status.Config["color"] != "green" {
			return fmt.Errorf("version %d is %s with the values %v", status.Version, status.Info.Status, status.Config)
		}
		return nil
	})
	c.awaitReady(manifests)
	c.awaitReady(chart)
	if env.Manager.PID() != pid {
		t.Error("the manager was started anew")
	}
}

// paintedFiles declare a palette, what only blue ones have, and a hook of upgrades that is an object which stays.
func paintedFiles() chartFiles {
	files := configMaps("palette", "only-blue", "made-by-upgrade")
	files["templates/only-blue.yaml"] = "{{ if eq .Values.color \"blue\" }}\n" + files["templates/only-blue.yaml"] + "{{ end }}\n"
	files["templates/made-by-upgrade.yaml"] = strings.Replace(files["templates/made-by-upgrade.yaml"],
		"{name: made-by-upgrade}", `{name: made-by-upgrade, annotations: {"helm.sh/hook": pre-upgrade}}`, 1)
	return files
}

func configMapNamed(name string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: {color: green}\n", name)
}

// awaitColors waits until ConfigMaps in the namespace default have a color.
func (c *customer) awaitColors(cluster, color string, names ...string) {
	c.Helper()
	for _, name := range names {
		expect.Eventually(c, fmt.Sprintf("%s is %s", name, color), func(ctx context.Context) error {
			found := &corev1.ConfigMap{}
			err := c.workload(cluster).Get(ctx, client.ObjectKey{Namespace: "default", Name: name}, found)
			if err != nil && !apierrors.IsNotFound(err) {
				return err
			}
			if found.Data["color"] != color {
				return fmt.Errorf("it is %q", found.Data["color"])
			}
			return nil
		})
	}
}
