package e2e

import (
	"archive/tar"
	"context"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/e2e/charts"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
)

// hostile is a chart that does harm to whoever unpacks or renders it.
type hostile struct {
	name    string
	archive func(testing.TB, string) []byte
	// reason is the AddonRelease's if the chart gets as far as to be rendered, and the SaaSAddon's if not.
	reason   string
	rendered bool
	says     string
	// endless: it takes all the processor time that it may.
	endless bool
}

var hostileCharts = []hostile{
	{name: "bomb", archive: zipBomb, reason: addonsv1alpha1.ReasonChartRefused, says: "more than 100 MiB"},
	{name: "bombs-inside", archive: nestedBombs, reason: addonsv1alpha1.ReasonChartRefused, says: "more than 100 MiB"},
	{name: "dolls", archive: nestedDeeply, reason: addonsv1alpha1.ReasonChartRefused, says: "more than 8 deep"},
	{name: "symlink", archive: symlink, reason: addonsv1alpha1.ReasonChartRefused, says: "link"},
	{name: "parent", archive: parentPath, reason: addonsv1alpha1.ReasonChartRefused, says: ".."},
	{name: "many-files", archive: manyFiles, reason: addonsv1alpha1.ReasonChartRefused, says: "more than 5000 files"},
	{name: "no-archive", archive: noArchive, reason: addonsv1alpha1.ReasonChartRefused, says: ".tgz"},
	{name: "output", archive: template(`{{ range 12 }}# {{ repeat 1048576 "x" }}{{ "\n" }}{{ end }}`),
		reason: addonsv1alpha1.ReasonRenderLimit, rendered: true, says: "larger than 10 MiB"},
	{name: "memory", archive: template(`{{ $s := repeat 1073741824 "x" }}`),
		reason: addonsv1alpha1.ReasonRenderLimit, rendered: true, says: "and was stopped"},
	{name: "endless", archive: template(`{{ range 1000000000 }}{{ range 1000000000 }}{{ end }}{{ end }}`),
		reason: addonsv1alpha1.ReasonRenderLimit, rendered: true, says: "10s of processor time", endless: true},
}

// mebibytes of zeros compress to little.
var mebibytes = make([]byte, 4<<20)

func chartYAML(name string) []byte {
	return fmt.Appendf(nil, "apiVersion: v2\nname: %s\nversion: %s\n", name, charts.FirstVersion)
}

func template(text string) func(testing.TB, string) []byte {
	return func(t testing.TB, name string) []byte {
		return smallChart(name, chartFiles{"templates/hostile.yaml": text}).packed(t)
	}
}

func hostileTar(t testing.TB, name string, fill func(*tar.Writer)) []byte {
	return packTar(t, func(archive *tar.Writer) {
		addFile(t, archive, "chart/Chart.yaml", chartYAML(name))
		fill(archive)
	})
}

func zeros(t testing.TB, archive *tar.Writer, files int) {
	for i := range files {
		addFile(t, archive, fmt.Sprintf("chart/files/%d", i), mebibytes)
	}
}

func zipBomb(t testing.TB, name string) []byte {
	return hostileTar(t, name, func(archive *tar.Writer) { zeros(t, archive, 30) })
}

// nestedBombs are each within the limits of one archive, and not together.
func nestedBombs(t testing.TB, name string) []byte {
	inside := hostileTar(t, "inside", func(archive *tar.Writer) { zeros(t, archive, 15) })
	return hostileTar(t, name, func(archive *tar.Writer) {
		for i := range 40 {
			addFile(t, archive, fmt.Sprintf("chart/charts/inside-%d.tgz", i), inside)
		}
	})
}

func nestedDeeply(t testing.TB, name string) []byte {
	inside := hostileTar(t, "inside", func(*tar.Writer) {})
	for range 12 {
		around := inside
		inside = hostileTar(t, name, func(archive *tar.Writer) { addFile(t, archive, "chart/charts/inside.tgz", around) })
	}
	return inside
}

func symlink(t testing.TB, name string) []byte {
	return hostileTar(t, name, func(archive *tar.Writer) {
		must(t, archive.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: "chart/templates/passwd.yaml", Linkname: "/etc/passwd"}))
	})
}

func parentPath(t testing.TB, name string) []byte {
	return hostileTar(t, name, func(archive *tar.Writer) { addFile(t, archive, "chart/../../escaped", []byte("x")) })
}

func manyFiles(t testing.TB, name string) []byte {
	return hostileTar(t, name, func(archive *tar.Writer) {
		for i := range 500_000 {
			must(t, archive.WriteHeader(&tar.Header{Name: fmt.Sprintf("chart/files/%d", i), Mode: 0o644}))
		}
	})
}

func noArchive(testing.TB, string) []byte {
	return []byte("<!doctype html><title>Please log in</title>")
}

// startHostileRepository serves the charts with an index, whatever is in them.
func (c *customer) startHostileRepository() (url string) {
	c.Helper()
	archives, index := map[string][]byte{}, "apiVersion: v1\nentries:\n"
	for _, one := range hostileCharts {
		file := one.name + ".tgz"
		archives["/"+file] = one.archive(c, one.name)
		c.Logf("%s has %d KiB", file, len(archives["/"+file])>>10)
		index += fmt.Sprintf("  %s:\n  - name: %s\n    version: %s\n    digest: %s\n    urls: [%s]\n", one.name, one.name,
			charts.FirstVersion, strings.TrimPrefix(sha256Of(archives["/"+file]), "sha256:"), file)
	}
	archives["/index.yaml"] = []byte(index)
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write(archives[r.URL.Path]) }))
	c.Cleanup(server.Close)
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	c.createSecret("hostile-ca", corev1.SecretTypeOpaque, map[string]string{"ca.crt": string(authority)})
	return server.URL
}

// hostileGrowth is what the manager and its workers may take more than before at any moment, in bytes. What
// was seen is 110 to 150 MiB, most of it a worker with 100 MiB.
const hostileGrowth = 300 << 20

// TestHostileChartsHarmNobodyElse installs them in the cluster of one customer, while another goes on. It
// weighs the manager, so that nothing else may go on.
func TestHostileChartsHarmNobodyElse(t *testing.T) {
	theirs, ours := newCustomer(t, 0, 1), newCustomer(t, 0, 1)
	repository := theirs.startHostileRepository()
	healthy := ours.startRegistry(smallChart("healthy", configMaps("healthy")).packed(t))
	slow := theirs.startRegistry(smallChart("slow", configMaps("slow")).packed(t))
	resume := slow.Stall()
	weight := weigh(t)

	stalled := theirs.newChartAddon("slow", slow.OCI(), "slow", charts.FirstVersion)
	theirs.create(stalled)
	start := time.Now()
	for _, one := range hostileCharts {
		addon := theirs.newChartAddon(one.name, repository, one.name, charts.FirstVersion)
		addon.Spec.Source.Chart.SecretRef, addon.Spec.Source.Chart.CARef.Name = nil, "hostile-ca"
		theirs.create(addon)
	}
	addon := ours.newChartAddon("healthy", healthy.OCI(), "healthy", charts.FirstVersion)
	addon.Spec.Values = valuesOf(`{"color": "green"}`)
	ours.create(addon)
	ours.awaitReady(addon)
	t.Logf("a healthy add-on was installed %s after the hostile ones were there", time.Since(start))
	ours.takesBackColor("healthy", "green")
	// All of that while the registry still stalls.
	theirs.awaitAddonCondition(stalled, metav1alpha1.ConditionReady, metav1.ConditionFalse, addonsv1alpha1.ReasonFetching, "slow", "is being fetched")

	for _, one := range hostileCharts {
		theirs.awaitHostileTold(one)
	}
	t.Logf("all hostile charts were told of after %s", time.Since(start))
	weight.expectWithin(t, hostileGrowth)
	resume()
	theirs.awaitReady(stalled)
	ours.takesBackColor("healthy", "green")
	ours.awaitReady(addon)
}

func (c *customer) awaitHostileTold(one hostile) {
	c.Helper()
	addon := c.newAddon(one.name, "")
	if !one.rendered {
		c.awaitAddonCondition(addon, metav1alpha1.ConditionStalled, metav1.ConditionTrue, one.reason, "chart "+one.name+" 1.0.0", one.says)
		return
	}
	cluster := c.clusters.bare[0]
	const busy = "the machine is too busy to render"
	release := c.awaitRelease(addon, cluster, "it is told of", func(release *addonsv1alpha1.AddonRelease) error {
		if one.endless && strings.Contains(message(release.Status.Conditions, metav1alpha1.ConditionReady), busy) {
			return nil // On a machine that does much else it does not get the processor time that it is to be stopped for.
		}
		return expect.Condition(release.Status.Conditions, metav1alpha1.ConditionStalled, metav1.ConditionTrue, one.reason)
	})
	if stalled := message(release.Status.Conditions, metav1alpha1.ConditionStalled); stalled != "" {
		must(c, says(stalled, one.says))
	}
	c.awaitAddonCondition(addon, metav1alpha1.ConditionReady, metav1.ConditionFalse, metav1alpha1.ReasonTargetsFailed)
}

// takesBackColor edits a ConfigMap and waits until it is as declared.
func (c *customer) takesBackColor(name, color string) {
	c.Helper()
	cluster, start := c.clusters.bare[0], time.Now()
	settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	edit(c, c.workload(cluster), settings, func(m *corev1.ConfigMap) { m.Data["color"] = "edited" })
	expect.Eventually(c, "an edit is taken back", func(context.Context) error {
		if now := c.configMap(cluster, name).Data["color"]; now != color {
			return fmt.Errorf("the color is %s", now)
		}
		return nil
	})
	c.Logf("an edit was taken back within %s", time.Since(start))
}

// TestAStalledRegistryIsTold waits until the manager gives a fetch up.
func TestAStalledRegistryIsTold(t *testing.T) {
	t.Parallel()
	c := newCustomer(t, 0, 1)
	served := c.startRegistry(smallChart("late", configMaps("late")).packed(t))
	resume := served.Stall()
	addon := c.newChartAddon("late", served.HTTPS(), "late", charts.FirstVersion)
	c.create(addon)
	c.awaitAddonCondition(addon, metav1alpha1.ConditionReady, metav1.ConditionFalse, addonsv1alpha1.ReasonFetching, "late")
	c.awaitAddonCondition(addon, metav1alpha1.ConditionReady, metav1.ConditionFalse, metav1alpha1.ReasonFailed, "late", "within 1m0s")
	resume()
	c.awaitReady(addon)
}
