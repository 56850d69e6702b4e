package e2e

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/e2e/charts"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
)

// Scenarios, each with an add-on and a namespace of its name.
const (
	rollout  = "rollout"
	upgrade  = "chart-upgrade"
	drift    = "drift"
	deletion = "deletion"
)

// scenarioNames are in the order of the table's columns.
func scenarioNames() []string { return []string{rollout, upgrade, drift, deletion} }

// scenario is something that people do, and what becomes of it.
type scenario struct {
	name string
	act  func()
	// end waits for the end state, and returns it.
	end func(*customer) outcome
}

// outcome is the end state of a scenario in its namespace: objects by id, and what Helm says of the release.
type outcome struct {
	contents map[string]string
	history  string
}

func (o outcome) same(t testing.TB, got outcome) {
	t.Helper()
	sameContents(t, "disturbed", got.contents, o.contents)
	if got.history != o.history {
		t.Errorf("helm history is %q, and not %q", got.history, o.history)
	}
}

// missing complains about the first difference.
func (o outcome) missing(contents map[string]string) error {
	for id, want := range o.contents {
		if got := contents[id]; got != want {
			return fmt.Errorf("%s is %q, and not %q", id, got, want)
		}
	}
	return nil
}

// prepare installs what the scenarios start from.
func (e *faultEnv) prepare() []scenario {
	e.Helper()
	rolled, drifted, deleted := e.newAddon(rollout, anywhere("1", 3)), e.newAddon(drift, anywhere("1", 3)), e.newAddon(deletion, anywhere("1", 3))
	served := e.startRegistry(chartArchive(e, "hooks", charts.FirstVersion), chartArchive(e, "hooks", charts.SecondVersion))
	upgraded := e.newChartAddon(upgrade, served.OCI(), "hooks", charts.FirstVersion)
	e.livesIn(upgraded, upgrade)
	addons := []*addonsv1alpha1.SaaSAddon{rolled, upgraded, drifted, deleted}
	for _, addon := range addons {
		e.create(addon)
	}
	for _, addon := range addons {
		e.awaitReady(addon)
	}
	before := e.contentsOf(e.customer, drift)
	return []scenario{
		{rollout, func() { e.change(rolled, anywhere("2", 2)+"---\n"+fmt.Sprintf(oneConfigMap, "green")) }, func(c *customer) outcome {
			c.awaitReady(rolled)
			return outcome{contents: e.contentsOf(c, rollout)}
		}},
		{upgrade, func() {
			e.update(upgraded, func(a *addonsv1alpha1.SaaSAddon) { a.Spec.Source.Chart.Version = charts.SecondVersion })
		}, func(c *customer) outcome { return e.upgradeEnds(c, upgraded) }},
		{drift, e.changeByHand, func(c *customer) outcome { return e.driftEnds(c, drifted, before) }},
		{deletion, func() { must(e, env.Admin.Delete(e.Context(), deleted)) }, func(c *customer) outcome {
			waitGone(c, env.Admin, deleted)
			waitGone(c, c.workload(e.cluster), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: deletion}})
			return outcome{contents: e.contentsOf(c, deletion)}
		}},
	}
}

// upgradeEnds reads Helm's records as soon as the add-on is said to be ready.
func (e *faultEnv) upgradeEnds(c *customer, addon *addonsv1alpha1.SaaSAddon) outcome {
	c.Helper()
	c.awaitReady(addon)
	revisions, err := helmOf(c, e.cluster).History(types.NamespacedName{Namespace: upgrade, Name: upgrade})
	must(c, err)
	return outcome{contents: e.contentsOf(c, upgrade), history: describeHistory(revisions)}
}

// changeByHand changes a value, adds a container, and deletes an object.
func (e *faultEnv) changeByHand() {
	e.Helper()
	workload := e.workload(e.cluster)
	edit(e, workload, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: drift, Name: "part-00"}},
		func(m *corev1.ConfigMap) { m.Data["value"] = "edited" })
	edit(e, workload, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: drift, Name: "web"}}, func(d *appsv1.Deployment) {
		d.Spec.Template.Spec.Containers = append(d.Spec.Template.Spec.Containers, corev1.Container{Name: "debug", Image: "busybox"})
	})
	must(e, workload.Delete(e.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: drift, Name: "part-01"}}))
}

// driftEnds waits until the cluster is as it was before, and for the add-on to say so.
func (e *faultEnv) driftEnds(c *customer, addon *addonsv1alpha1.SaaSAddon, before map[string]string) outcome {
	c.Helper()
	expect.Eventually(c, "drift is taken back", func(ctx context.Context) error {
		deployment := &appsv1.Deployment{}
		if err := c.workload(e.cluster).Get(ctx, types.NamespacedName{Namespace: drift, Name: "web"}, deployment); err != nil {
			return err
		}
		if containers := len(deployment.Spec.Template.Spec.Containers); containers != 1 {
			return fmt.Errorf("there are %d containers", containers)
		}
		parts := &corev1.ConfigMap{}
		if err := c.workload(e.cluster).Get(ctx, types.NamespacedName{Namespace: drift, Name: "part-01"}, parts); err != nil {
			return err
		}
		if err := c.workload(e.cluster).Get(ctx, types.NamespacedName{Namespace: drift, Name: "part-00"}, parts); err != nil {
			return err
		}
		if parts.Data["value"] != "1" {
			return errors.New("a value is still edited")
		}
		return nil
	})
	got := e.contentsOf(c, drift)
	sameContents(c, "after the correction", got, before)
	c.awaitReleaseCondition(addon, e.cluster, metav1alpha1.ConditionReady, metav1.ConditionTrue, "")
	return outcome{contents: got}
}

// anywhere is web without the cluster's name, so that it is the same in all clusters.
func anywhere(value string, configMaps int) string {
	return strings.ReplaceAll(web(value, configMaps), ", cluster: '{{ .Cluster.Name }}'", "")
}

// ofOneRun are what marks the hooks of one upgrade, and UIDs.
var ofOneRun = regexp.MustCompile(`"daytwo\.dev/operation":"[^"]*"|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// contentsOf is what Daytwo applied in one namespace, the namespace among it, without what differs from run to run.
// Helm's records are told by its history.
func (e *faultEnv) contentsOf(c *customer, namespace string) map[string]string {
	c.Helper()
	found := map[string]string{}
	for id, text := range contents(c, e.cluster) {
		if strings.Contains(id, "/sh.helm.release.") {
			continue
		}
		if strings.Contains(id, "/"+namespace+"/") || strings.HasSuffix(id, "/Namespace//"+namespace) {
			found[id] = ofOneRun.ReplaceAllString(text, "")
		}
	}
	return found
}
