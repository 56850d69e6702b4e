package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	release "helm.sh/helm/v4/pkg/release/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/e2e/charts"
	"github.com/daytwo-dev/daytwo/e2e/helmclient"
	"github.com/daytwo-dev/daytwo/e2e/registry"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
)

const (
	// providerNamespace is where policies may reach all customers.
	providerNamespace = "daytwo-system"
	providerTier      = metav1alpha1.ProviderLabelPrefix + "tier"
)

// newProvider borrows full clusters, each for a customer of its own, and returns who has policies for
// all of them.
func newProvider(t *testing.T, full int) *customer {
	t.Helper()
	borrowed := clusters.take(full, 0)
	t.Cleanup(func() { clusters.giveBack(borrowed) })
	for _, name := range borrowed.full {
		moveIn(t, lent{full: []string{name}}).subscribe(name)
	}
	return &customer{T: t, namespace: providerNamespace, clusters: borrowed}
}

// subscribe puts the provider's labels on the customer and a cluster.
func (c *customer) subscribe(cluster string) {
	c.Helper()
	label := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"labels":{%q:%q}}}`, providerTier, tier))
	must(c, env.Admin.Patch(c.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.namespace}}, label))
	must(c, env.Admin.Patch(c.Context(), c.tenantCluster(cluster), label))
}

// chartLife is a release of the chart web in each of the clusters.
type chartLife struct {
	*customer
	registry *registry.Server
	addon    *addonsv1alpha1.SaaSAddon
	name     types.NamespacedName
}

// host is a value that tells one cluster's release from another's.
func (l *chartLife) host(cluster string) string { return cluster + ".example.org" }

func newChartLife(c *customer, name string, repository func(*registry.Server) string) *chartLife {
	c.Helper()
	served := c.startRegistry(chartArchive(c, "web", charts.FirstVersion), chartArchive(c, "web", charts.SecondVersion))
	c.createSecret(name+"-values", corev1.SecretTypeOpaque, map[string]string{"values.yaml": "replicas: 2\n"})
	addon := c.newChartAddon(name, repository(served), "web", "1.0.x")
	addon.Spec.Values = valuesOf(`{"host": "{{ .Cluster.Name }}.example.org", "replicas": 1}`)
	addon.Spec.ValuesFrom = valuesFromSecret(name + "-values")
	return &chartLife{
		customer: c, registry: served, addon: addon,
		name: types.NamespacedName{Namespace: addon.Spec.Namespace, Name: name},
	}
}

func TestAChartsLifeInTheClustersOfTwoCustomers(t *testing.T) {
	t.Parallel()
	provider := newProvider(t, 2)
	life := newChartLife(provider, "storefront", (*registry.Server).OCI)
	ours := &metav1.LabelSelector{MatchLabels: map[string]string{providerTier: tier}}
	life.addon.Spec.ClusterSelector, life.addon.Spec.ClusterNamespaceSelector = ours, ours
	life.install()
	for _, cluster := range provider.clusters.full {
		life.expectHelmToSee(cluster, 1, 2)
	}
	life.upgradeByASecret()
	life.takesBackAnEdit(provider.clusters.full[0])
	life.takesBackWhatHelmDoes(provider.clusters.full[1])
	if downloads := life.registry.Downloads("web", charts.FirstVersion); downloads != 1 {
		t.Errorf("the archive was downloaded %d times", downloads)
	}
	life.end()
}

func TestAChartFromAnHTTPSRepository(t *testing.T) {
	t.Parallel()
	c := newCustomer(t, 1, 0)
	life := newChartLife(c, "bakery", (*registry.Server).HTTPS)
	life.install()
	life.expectHelmToSee(c.clusters.full[0], 1, 2)
	life.end()
}

// install waits until the add-on is ready, and compares what its status tells to what the registry serves.
func (l *chartLife) install() {
	l.Helper()
	l.create(l.addon)
	l.awaitReady(l.addon)
	if want, got := int32(len(l.clusters.all())), l.addon.Status.Clusters.Ready.Count; got != want {
		l.Errorf("it is ready in %d clusters, of %d", got, want)
	}
	chart := l.addon.Status.Chart
	if chart == nil || chart.Version != charts.FirstVersion || chart.Digest != sha256Of(chartArchive(l, "web", charts.FirstVersion)) {
		l.Errorf("the chart is told to be %+v", chart)
	}
	if downloads := l.registry.Downloads("web", charts.FirstVersion); downloads != 1 {
		l.Errorf("the archive was downloaded %d times for %d clusters", downloads, len(l.clusters.all()))
	}
}

// expectHelmToSee asks Helm's own tools for the release in a cluster.
func (l *chartLife) expectHelmToSee(cluster string, version int, replicas float64) {
	l.Helper()
	helm := helmOf(l, cluster)
	listed, err := helm.List(l.name.Namespace)
	must(l, err)
	if len(listed) != 1 || listed[0].Name != l.name.Name || listed[0].Chart.Metadata.Version != charts.FirstVersion {
		l.Errorf("helm list in %s has %d releases: %+v", cluster, len(listed), listed)
	}
	// A Helm that is taken back in the middle of what it does leaves a version that failed, or writes last that its own is
	// deployed. What counts for Helm then is the newest.
	got := strings.ReplaceAll(l.history(helm), "failed", "superseded")
	got = strings.Replace(got, fmt.Sprintf("%d deployed, %d deployed", version-1, version), fmt.Sprintf("%d superseded, %d deployed", version-1, version), 1)
	if want := historyOf(version); got != want {
		l.Errorf("helm history in %s is %s, not %s", cluster, got, want)
	}
	status, err := helm.Status(l.name, 0)
	must(l, err)
	if status.Info.Status != "deployed" || status.Version != version || len(status.Info.Resources) == 0 {
		l.Errorf("helm status in %s: version %d, %s, %d kinds of objects", cluster, status.Version, status.Info.Status, len(status.Info.Resources))
	}
	values, err := helm.GetValues(l.name, 0)
	must(l, err)
	if values["host"] != l.host(cluster) || values["replicas"] != replicas {
		l.Errorf("helm get values in %s: %v", cluster, values)
	}
	manifest, err := helm.GetManifest(l.name, 0)
	must(l, err)
	for _, other := range l.clusters.all() {
		if strings.Contains(manifest, l.host(other)) != (other == cluster) {
			l.Errorf("helm get manifest in %s, of the host in %s:\n%s", cluster, other, manifest)
		}
	}
}

// history is what helm history tells, the oldest first.
func (l *chartLife) history(helm *helmclient.Client) string {
	l.Helper()
	revisions, err := helm.History(l.name)
	must(l, err)
	return describeHistory(revisions)
}

func describeHistory(revisions []*release.Release) string {
	var told []string
	for _, one := range revisions {
		told = append(told, fmt.Sprintf("%d %s", one.Version, one.Info.Status))
	}
	return strings.Join(told, ", ")
}

// recordsKept is how many versions of a release have a record.
const recordsKept = 5

// historyOf is that of a release whose latest version is deployed, and nothing went wrong on the way.
func historyOf(version int) string {
	text := ""
	for one := max(1, version-recordsKept+1); one < version; one++ {
		text += fmt.Sprintf("%d superseded, ", one)
	}
	return text + fmt.Sprintf("%d deployed", version)
}

// upgradeByASecret changes nothing but the Secret that values come from.
func (l *chartLife) upgradeByASecret() {
	l.Helper()
	old := l.addon.Status.Revision
	edit(l, env.Admin, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: l.name.Name + "-values"}},
		func(secret *corev1.Secret) { secret.Data["values.yaml"] = []byte("replicas: 3\n") })
	expect.Eventually(l, "the Secret's change is a new revision", func(ctx context.Context) error {
		if err := env.Admin.Get(ctx, client.ObjectKeyFromObject(l.addon), l.addon); err != nil {
			return err
		}
		if l.addon.Status.Revision == old {
			return fmt.Errorf("it is still %s", old)
		}
		return nil
	})
	l.awaitReady(l.addon)
	for _, cluster := range l.clusters.all() {
		l.expectHelmToSee(cluster, 2, 3)
		if replicas := *l.deployment(cluster).Spec.Replicas; replicas != 3 {
			l.Errorf("there are %d replicas in %s", replicas, cluster)
		}
	}
}

func (l *chartLife) deployment(cluster string) *appsv1.Deployment {
	l.Helper()
	deployment := &appsv1.Deployment{}
	key := types.NamespacedName{Namespace: l.name.Namespace, Name: l.name.Name + "-web"}
	must(l, l.workload(cluster).Get(l.Context(), key, deployment))
	return deployment
}

func (l *chartLife) end() {
	l.Helper()
	l.uninstall(l.addon)
	l.awaitNothingLeft(l.addon)
	for _, cluster := range l.clusters.all() {
		listed, err := helmOf(l, cluster).List("")
		must(l, err)
		if len(listed) != 0 {
			l.Errorf("helm list in %s still has %s", cluster, listed[0].Name)
		}
	}
}
