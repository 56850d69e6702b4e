package webhooks

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/saasaddon/preview"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
)

const (
	settings = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\ndata:\n  tier: %s\n"
	// endless takes hours.
	endless = "# {{ range until 100000 }}{{ range until 100000 }}{{ end }}{{ end }}\n"
)

// connectedClusters are those of a customer, one of tier gold and one without a tier. The webhook knows them.
func connectedClusters(t *testing.T) (namespace string) {
	t.Helper()
	namespace = newNamespace(t)
	for name, labels := range map[string]map[string]string{"a": nil, "b": {tier: "gold"}} {
		cluster := imported(namespace, name)
		cluster.Labels = labels
		must(t, admin.Create(t.Context(), cluster))
		cluster.Status.Version = "v1.36.3"
		meta.SetStatusCondition(&cluster.Status.Conditions, metav1.Condition{
			Type: tenancyv1alpha1.ConditionConnected, Status: metav1.ConditionTrue, Reason: tenancyv1alpha1.ReasonConnected,
		})
		must(t, admin.Status().Update(t.Context(), cluster))
		expect.Eventually(t, "the webhook knows that the cluster is connected", func(ctx context.Context) error {
			known := &tenancyv1alpha1.TenantCluster{}
			err := served.GetClient().Get(ctx, client.ObjectKeyFromObject(cluster), known)
			if err == nil && !meta.IsStatusConditionTrue(known.Status.Conditions, tenancyv1alpha1.ConditionConnected) {
				err = errors.New("it does not")
			}
			return err
		})
	}
	return namespace
}

func addonOf(namespace, name, inline string) *addonsv1alpha1.SaaSAddon {
	return &addonsv1alpha1.SaaSAddon{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: addonsv1alpha1.SaaSAddonSpec{
			PolicySpec: metav1alpha1.PolicySpec{ClusterSelector: &metav1.LabelSelector{}},
			Source:     addonsv1alpha1.AddonSource{Manifests: &addonsv1alpha1.ManifestSource{Inline: inline}},
		},
	}
}

// warned writes something, and returns the warnings.
func warned(t *testing.T, write func(ctx context.Context) error) string {
	t.Helper()
	ctx, collected := collecting(t.Context())
	must(t, write(ctx))
	return strings.Join(collected.all(), "\n")
}

func TestContentThatCanBeRenderedForNoClusterIsRefusedAtOnce(t *testing.T) {
	namespace := connectedClusters(t)
	for _, row := range []struct {
		name, inline string
		says         []string
	}{
		{"AFunctionThatIsNone", fmt.Sprintf(settings, "{{ nope }}"), []string{"line 6", `no function "nope"`}},
		{"BadYAML", fmt.Sprintf(settings, "[gold"), []string{"inline", "line"}},
		{"NoObject", "one", []string{"inline"}},
		{"ALabelThatNoClusterHas", fmt.Sprintf(settings, "{{ .Cluster.Labels.zone }}"), []string{"line 6", "zone", "add a missing label to the TenantCluster"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			says := append(row.says, "spec.source.manifests.inline")
			expectRefusal(t, admin.Create(t.Context(), addonOf(namespace, "cache", row.inline)), says...)
			expectRefusal(t, admin.Create(t.Context(), addonOf(namespace, "cache", row.inline), client.DryRunAll), says...)
		})
	}
	// What can be rendered for one of the clusters is not refused.
	good := addonOf(namespace, "cache", fmt.Sprintf(settings, "{{ .Cluster.Labels.tier }}"))
	if said := warned(t, func(ctx context.Context) error { return admin.Create(ctx, good) }); said != "" {
		t.Errorf("warned of %q", said)
	}
	expectRefusal(t, edit(t, good, func(addon *addonsv1alpha1.SaaSAddon) { addon.Spec.Source.Manifests.Inline = "kind: [" }), "spec.source.manifests.inline")
}

func TestValuesThatCannotBeRenderedAreRefusedAtOnce(t *testing.T) {
	namespace := connectedClusters(t)
	addon := addonOf(namespace, "chart", "")
	addon.Spec.Source = addonsv1alpha1.AddonSource{Chart: &addonsv1alpha1.ChartSource{Repository: "oci://charts.example.com", Name: "web", Version: "1.0.0"}}
	addon.Spec.Values = &apiextensionsv1.JSON{Raw: []byte(`{"image": {"tag": "{{ nope }}"}}`)}
	expectRefusal(t, admin.Create(t.Context(), addon), "spec.values", "image.tag")
	addon.Spec.Values.Raw = []byte(`{"image": {"tag": "{{ .Cluster.Version }}"}}`)
	must(t, admin.Create(t.Context(), addon, client.DryRunAll))
}

// Who has no connected cluster learns of what no cluster could change.
func TestWithoutAClusterTemplatesAreReadAndNotExecuted(t *testing.T) {
	namespace := newNamespace(t)
	expectRefusal(t, admin.Create(t.Context(), addonOf(namespace, "cache", "{{ nope }}")), "line 1")
	must(t, admin.Create(t.Context(), addonOf(namespace, "cache", endless+fmt.Sprintf(settings, "{{ .Cluster.Labels.tier }}"))))
}

// An add-on that was written before there was a check, or past it, can be edited and deleted.
func TestContentThatStaysIsNotLookedAt(t *testing.T) {
	namespace := newNamespace(t)
	addon := addonOf(namespace, "cache", "one")
	must(t, admin.Create(t.Context(), addon)) // No cluster is there yet.
	cluster := imported(namespace, "a")
	must(t, admin.Create(t.Context(), cluster))
	must(t, edit(t, addon, func(addon *addonsv1alpha1.SaaSAddon) { addon.Spec.Suspend = true }))
	must(t, edit(t, addon, func(addon *addonsv1alpha1.SaaSAddon) { addon.Spec.ClusterNames = []string{"a"} }))
	must(t, admin.Delete(t.Context(), addon))
}

// Templates of one customer that never end delay no other customer's add-ons, and neither refuse nor hold up their own.
func TestEndlessTemplatesOfOneDelayNobodyElse(t *testing.T) {
	slow, quick := connectedClusters(t), connectedClusters(t)
	type answer struct {
		said string
		err  error
	}
	const many = 8
	answers := make(chan answer, many)
	for i := range many {
		go func() {
			ctx, collected := collecting(t.Context())
			err := admin.Create(ctx, addonOf(slow, fmt.Sprint("endless-", i), endless))
			answers <- answer{strings.Join(collected.all(), "\n"), err}
		}()
	}
	for i := range many {
		addon := addonOf(quick, fmt.Sprint("bad-", i), fmt.Sprintf(settings, "{{ nope }}"))
		expectRefusal(t, admin.Create(t.Context(), addon), "line 6")
	}
	for range many {
		switch got := <-answers; {
		case got.err != nil:
			t.Errorf("an endless one is refused: %v", got.err)
		case !strings.Contains(got.said, "spec.source.manifests.inline was not checked"):
			t.Errorf("of an endless one it is said: %q", got.said)
		}
	}
}

var widget = widgetOf("one", "v1")

func widgetOf(name, version string) string {
	return fmt.Sprintf("apiVersion: example.com/%s\nkind: Widget\nmetadata: {name: %s}\n", version, name)
}

// definition is of Widgets.
const definition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {plural: widgets, kind: Widget}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`

// Whether a cluster serves a kind is what controllers.ServedKinds tells, which has a test of its own.
func TestKindsThatAClusterDoesNotServeAreWarnedOf(t *testing.T) {
	namespace := connectedClusters(t)
	unreachable := errors.New("it does not answer")
	for _, row := range []struct {
		name, inline string
		serves       bool
		err          error
		warns        string
	}{
		{name: "ServedByTheCluster", inline: widget, serves: true},
		{name: "ServedByNobody", inline: widget, warns: "TenantCluster a does not serve Widget of example.com/v1: "},
		{name: "DefinedByTheAddon", inline: widget + "---\n" + definition},
		{name: "OfAClusterThatDoesNotAnswer", inline: widget, err: unreachable},
		{
			name: "Many", inline: strings.Join([]string{
				widget, widgetOf("two", "v1"), widgetOf("three", "v2"), widgetOf("four", "v3"), widgetOf("five", "v4"),
			}, "---\n"),
			warns: "Widget of example.com/v1, Widget of example.com/v2, Widget of example.com/v3 and 1 more: ",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			previewer := &preview.Previewer{
				Client: served.GetClient(), Renderer: renderer, Render: true,
				Serves: func(_ context.Context, cluster types.NamespacedName, kind schema.GroupVersionKind) (bool, error) {
					if cluster.Namespace != namespace {
						t.Errorf("%s is asked", cluster)
					}
					return kind.Group != "example.com" || row.serves, row.err
				},
			}
			problem, warning := previewer.Preview(t.Context(), addonOf(namespace, "widgets", row.inline))
			if problem != nil || !strings.Contains(warning, row.warns) || (warning == "") != (row.warns == "") {
				t.Errorf("it is told %+v, %q", problem, warning)
			}
		})
	}
}

// Somebody who is not the API server may ask in the name of any namespace: then no template learns of its clusters.
func TestNothingOfAClusterIsToldToAnybody(t *testing.T) {
	namespace := connectedClusters(t)
	addon := addonOf(namespace, "nosy", `{{ fail .Cluster.Labels.tier }}`)
	for anybody, wanted := range map[bool]bool{true: false, false: true} {
		previewer := &preview.Previewer{Client: served.GetClient(), Renderer: renderer, Render: !anybody}
		problem, warning := previewer.Preview(t.Context(), addon)
		if told := problem != nil; told != wanted || warning != "" {
			t.Errorf("asked by anybody: %v, it is told %+v, %q", anybody, problem, warning)
		}
	}
}
