package addonrelease

import (
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	helmrecord "github.com/daytwo-dev/daytwo/controllers/internal/helm"
	"github.com/daytwo-dev/daytwo/e2e/charts"
	"github.com/daytwo-dev/daytwo/e2e/helmclient"
)

// rival is Helm itself, in a cluster of its own.
type rival struct {
	*addon
	client *helmclient.Client
	chart  string
	values map[string]any
	crds   []string
	// random: the chart generates what it contains.
	random bool
}

// TestAReleaseEndsAsWithHelmItself does the same to a release with Helm's actions and with Daytwo, in two
// clusters, and compares everything that is there then: objects, hooks and records.
func TestAReleaseEndsAsWithHelmItself(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		chart, values string
		random        bool
		crds          []string
	}{
		{chart: "web", values: `{"replicas": 2}`},
		{chart: "hooks", values: `{}`},
		{chart: "crds", values: `{}`, crds: []string{"sites.hosting.example.com"}},
		{chart: "certificate", values: `{}`, random: true},
		{chart: "umbrella", values: `{}`},
		{chart: "database", values: `{"password": "secret"}`},
	} {
		t.Run(row.chart, func(t *testing.T) {
			t.Parallel()
			r := newRival(t, row.chart, row.values)
			r.random, r.crds = row.random, row.crds
			first, second := r.addon.chart(row.chart, charts.FirstVersion, row.values), r.addon.chart(row.chart, charts.SecondVersion, row.values)

			r.start(first)
			r.install(charts.FirstVersion)
			r.same("after the installation")

			r.move(second)
			r.upgrade(charts.SecondVersion)
			r.same("after the upgrade")

			r.move(first)
			r.rollback(1)
			r.same("after the rollback")

			r.deleteRelease()
			r.uninstall()
			r.same("after the end")
		})
	}
}

func newRival(t *testing.T, chart, values string) *rival {
	t.Helper()
	made, err := helmclient.New(shared.rivalConfig, helmclient.Settings{MaxHistory: helmrecord.HistoryLimit})
	if err != nil {
		t.Fatal(err)
	}
	r := &rival{addon: declareAddon(t, ""), client: made, chart: chart}
	if err := json.Unmarshal([]byte(values), &r.values); err != nil {
		t.Fatal(err)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: r.namespace}}
	rivals, err := client.New(shared.rivalConfig, client.Options{})
	if err == nil {
		err = rivals.Create(t.Context(), namespace)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *rival) name() types.NamespacedName { return types.NamespacedName(r.helmRelease()) }

func (r *rival) archive(version string) []byte {
	r.t.Helper()
	archive, err := charts.Archive(r.chart, version)
	if err != nil {
		r.t.Fatal(err)
	}
	return archive
}

func (r *rival) install(version string) {
	r.t.Helper()
	_, err := r.client.Install(r.t.Context(), r.name(), r.archive(version), r.values)
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *rival) upgrade(version string) {
	r.t.Helper()
	// Helm alone never upgrades what is in crds/.
	if _, err := r.client.Upgrade(r.t.Context(), r.name(), r.archive(version), r.values); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rival) rollback(version int) {
	r.t.Helper()
	if err := r.client.Rollback(r.t.Context(), r.name(), version); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rival) uninstall() {
	r.t.Helper()
	if _, _, err := r.client.Uninstall(r.t.Context(), r.name()); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rival) deleteRelease() {
	r.t.Helper()
	if err := shared.management.Delete(r.t.Context(), r.get()); err != nil {
		r.t.Fatal(err)
	}
	eventually(r.t, "the release is gone", func() (bool, string) {
		release := r.get()
		return release.UID == "", describeConditions(release)
	})
}

// same waits until both clusters hold the same.
func (r *rival) same(when string) {
	r.t.Helper()
	if r.get().UID != "" {
		r.waitFor(metav1alpha1.ConditionApplied, metav1.ConditionTrue, metav1alpha1.ReasonSucceeded)
	}
	eventually(r.t, "both clusters hold the same "+when, func() (bool, string) {
		difference := r.view(true).Diff(r.view(false))
		return difference == "", "(- Helm, + Daytwo)\n" + difference
	})
}

// view is what is in the cluster of Helm, or of Daytwo, without what may differ.
func (r *rival) view(theirs bool) helmclient.View {
	r.t.Helper()
	config := shared.workloadConfig
	if theirs {
		config = shared.rivalConfig
	}
	view, err := helmclient.Snapshot(r.t.Context(), config, helmclient.Scope{Namespaces: []string{r.namespace}, CRDs: r.crds})
	if err != nil {
		r.t.Fatal(err)
	}
	for id, object := range view {
		if strings.Contains(id, "CustomResourceDefinition") {
			delete(object.Content, "spec") // Daytwo upgrades it, Helm does not.
		}
		if r.random {
			delete(object.Content, "data")
			withoutChecksums(object.Content)
		}
	}
	return view.Without(func(record *helmclient.Record) {
		// Daytwo applies on the server's side, and says otherwise: see recorder.build.
		record.ApplyMethod = ""
		if r.random {
			delete(record.Release, "manifest")
		}
	})
}

// withoutChecksums drops annotations of pods that are made from what is random.
func withoutChecksums(content map[string]any) {
	for _, field := range []string{"spec", "template", "metadata"} {
		content, _ = content[field].(map[string]any)
	}
	delete(content, "annotations")
}
