package saasaddon

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/addoncontent"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/revision"
	testcharts "github.com/daytwo-dev/daytwo/e2e/charts"
	"github.com/daytwo-dev/daytwo/e2e/registry"
)

// newRegistry serves both versions of the chart "web", to whom the customer's Secrets let in.
func newRegistry(c *customer) *registry.Server {
	c.Helper()
	server, err := registry.Start(c.ctx, registry.Options{Username: "customer", Password: "canary-password"})
	c.must(err)
	c.Cleanup(func() { _ = server.Close() })
	for _, version := range testcharts.Versions() {
		archive, err := testcharts.Archive("web", version)
		c.must(err)
		_, err = server.Push(archive)
		c.must(err)
	}
	c.must(c.Create(c.ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: "registry"}, Type: corev1.SecretTypeBasicAuth,
		StringData: map[string]string{"username": "customer", "password": "canary-password"},
	}))
	c.must(c.Create(c.ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: "registry-ca"}, Data: map[string][]byte{"ca.crt": server.CA()},
	}))
	return server
}

// addChart creates an add-on of the chart "web".
func (c *customer) addChart(repository, version string, change ...func(*addonsv1alpha1.SaaSAddon)) *addonsv1alpha1.SaaSAddon {
	c.Helper()
	return c.addAddon(func(addon *addonsv1alpha1.SaaSAddon) {
		addon.Spec.Source = addonsv1alpha1.AddonSource{Chart: &addonsv1alpha1.ChartSource{
			Repository: repository, Name: "web", Version: version,
			SecretRef: &metav1alpha1.LocalReference{Name: "registry"}, CARef: &metav1alpha1.LocalReference{Name: "registry-ca"},
		}}
		for _, one := range change {
			one(addon)
		}
	})
}

// chartOf reads the chart in an add-on's current revision.
func (c *customer) chartOf(addon *addonsv1alpha1.SaaSAddon) *addoncontent.Chart {
	c.Helper()
	raw, err := revision.Read(c.ctx, c.Client, types.NamespacedName{Namespace: c.namespace, Name: addon.Status.Revision})
	c.must(err)
	content := addoncontent.Content{}
	c.must(json.Unmarshal(raw, &content))
	return content.Chart
}

func TestARangeIsResolvedOnceAndPinned(t *testing.T) {
	repositories := map[string]func(*registry.Server) string{"OCI": (*registry.Server).OCI, "HTTPS": (*registry.Server).HTTPS}
	for name, repository := range repositories {
		t.Run(name, func(t *testing.T) {
			c := newCustomer(t)
			server := newRegistry(c)
			c.addCluster("a", nil)
			addon := c.addChart(repository(server), "<1.1")
			c.awaitTargets(addon, 1)
			if chart := addon.Status.Chart; chart.Version != "1.0.0" || !strings.HasPrefix(chart.Digest, "sha256:") {
				t.Errorf("resolved to %+v", chart)
			}
			before := addon.Status.Revision
			c.change(addon, func(a *addonsv1alpha1.SaaSAddon) { a.Spec.Source.Chart.Version = "1.x" })
			c.eventually("it is resolved again", func() error {
				c.reload(addon)
				if addon.Status.Chart.Version != "1.1.0" || addon.Status.Revision == before {
					return fmt.Errorf("it is %+v", addon.Status.Chart)
				}
				return nil
			})
			for _, version := range testcharts.Versions() {
				if downloads := server.Downloads("web", version); downloads != 1 {
					t.Errorf("version %s was downloaded %d times", version, downloads)
				}
			}
		})
	}
}

func TestAChangedSecretIsANewRevisionWithoutAnotherDownload(t *testing.T) {
	c := newCustomer(t)
	server := newRegistry(c)
	c.addCluster("a", nil)
	values := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: "values"},
		StringData: map[string]string{"values.yaml": "replicas: 2"},
	}
	c.must(c.Create(c.ctx, values))
	addon := c.addChart(server.OCI(), "1.0.0", func(a *addonsv1alpha1.SaaSAddon) {
		a.Spec.Values = &apiextensionsv1.JSON{Raw: []byte(`{"host":"{{ .Cluster.Name }}.example.org"}`)}
		a.Spec.ValuesFrom = []addonsv1alpha1.ValuesReference{{Kind: "Secret", Name: "values"}}
	})
	c.awaitTargets(addon, 1)
	before := addon.Status.Revision
	if content := c.chartOf(addon); len(content.Values) != 2 || content.Values[1].Text != "replicas: 2" || content.Values[1].Name != "secret/values/values.yaml" {
		t.Errorf("the revision has the values %+v", content.Values)
	}
	// The registry may be gone by then.
	c.must(server.Close())
	values.StringData = map[string]string{"values.yaml": "replicas: 3"}
	c.must(c.Update(c.ctx, values))
	c.eventually("there is a new revision", func() error {
		c.reload(addon)
		if addon.Status.Revision == before {
			return fmt.Errorf("it is still %s", before)
		}
		return nil
	})
	if content := c.chartOf(addon); content.Values[1].Text != "replicas: 3" || len(content.Archive) == 0 {
		t.Errorf("the revision has the values %+v", content.Values)
	}
}

func TestEmptyValuesMakeTheRevisionOfNone(t *testing.T) {
	c := newCustomer(t)
	server := newRegistry(c)
	c.addCluster("a", nil)
	c.must(c.Create(c.ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: "empty"}, Data: map[string]string{"values.yaml": "{}\n", "nothing": ""},
	}))
	addon := c.addChart(server.OCI(), "1.0.0")
	c.awaitTargets(addon, 1)
	before := addon.Status.Revision
	mappings := func(a *addonsv1alpha1.SaaSAddon) { a.Spec.Values = &apiextensionsv1.JSON{Raw: []byte(`{}`)} }
	texts := func(a *addonsv1alpha1.SaaSAddon) {
		a.Spec.ValuesFrom = []addonsv1alpha1.ValuesReference{{Kind: "ConfigMap", Name: "empty"}, {Kind: "ConfigMap", Name: "empty", Key: "nothing"}}
	}
	for _, change := range []func(*addonsv1alpha1.SaaSAddon){mappings, texts} {
		c.change(addon, change)
		c.eventually("the change is observed", func() error {
			c.reload(addon)
			if addon.Status.ObservedGeneration != addon.Generation || meta.IsStatusConditionTrue(addon.Status.Conditions, metav1alpha1.ConditionStalled) {
				return fmt.Errorf("generation %d is observed, of %d: %+v", addon.Status.ObservedGeneration, addon.Generation, addon.Status.Conditions)
			}
			return nil
		})
		if addon.Status.Revision != before {
			t.Errorf("the revision is %s with the values %s and %v, and was %s without", addon.Status.Revision, addon.Spec.Values.Raw, addon.Spec.ValuesFrom, before)
		}
	}
	c.change(addon, func(a *addonsv1alpha1.SaaSAddon) {
		a.Spec.Values = &apiextensionsv1.JSON{Raw: []byte(`{"replicas":2}`)}
	})
	c.eventually("values that set something make another revision", func() error {
		c.reload(addon)
		if addon.Status.Revision == before {
			return fmt.Errorf("it is still %s", before)
		}
		return nil
	})
}

func TestAChartThatWasReplacedUnderItsVersionIsRefusedUntilItIsAccepted(t *testing.T) {
	c := newCustomer(t)
	server := newRegistry(c)
	c.addCluster("a", nil)
	addon := c.addChart(server.OCI(), "1.0.0")
	c.awaitTargets(addon, 1)
	before := *addon.Status.Chart
	other, err := testcharts.Archive("web", testcharts.SecondVersion)
	c.must(err)
	retagged, err := server.Retag("web", "1.0.0", other)
	c.must(err)
	c.change(addon, func(a *addonsv1alpha1.SaaSAddon) {
		a.Annotations = map[string]string{metav1alpha1.AnnotationRequestedAt: "now"}
	})
	c.awaitCondition(addon, metav1alpha1.ConditionStalled, metav1.ConditionTrue, "DigestMismatch", before.Digest, "spec.source.chart.digest")
	// What is stored goes on, also to clusters that come now; and the problem stands.
	c.addCluster("b", nil)
	c.awaitTargets(addon, 2)
	c.awaitCondition(addon, metav1alpha1.ConditionStalled, metav1.ConditionTrue, "DigestMismatch", before.Digest)
	if addon.Status.Chart.Digest != before.Digest {
		t.Errorf("the status says %+v", addon.Status.Chart)
	}
	c.change(addon, func(a *addonsv1alpha1.SaaSAddon) { a.Spec.Source.Chart.Digest = retagged.ArchiveDigest })
	c.eventually("it is accepted", func() error {
		c.reload(addon)
		if addon.Status.Chart.Digest != retagged.ArchiveDigest {
			return fmt.Errorf("it is %+v", addon.Status.Conditions)
		}
		return nil
	})
}

func TestBadChartSourcesAreNamed(t *testing.T) {
	rows := []struct {
		name, reason string
		says         []string
		spoil        func(*addonsv1alpha1.SaaSAddon)
	}{
		{"AMissingVersion", "VersionNotFound", []string{"web", "9.9.9", "1.1.0"}, func(a *addonsv1alpha1.SaaSAddon) { a.Spec.Source.Chart.Version = "9.9.9" }},
		{"AMissingChart", "", []string{"nope"}, func(a *addonsv1alpha1.SaaSAddon) { a.Spec.Source.Chart.Name = "nope" }},
		{"NoCredentials", "AccessDenied", nil, func(a *addonsv1alpha1.SaaSAddon) { a.Spec.Source.Chart.SecretRef = nil }},
		{"AMissingSecret", "ReferenceNotFound", []string{"nowhere", "spec.source.chart.secretRef"}, func(a *addonsv1alpha1.SaaSAddon) { a.Spec.Source.Chart.SecretRef.Name = "nowhere" }},
		{"MissingValues", "ReferenceNotFound", []string{"nowhere", "spec.valuesFrom[0]"}, func(a *addonsv1alpha1.SaaSAddon) {
			a.Spec.ValuesFrom = []addonsv1alpha1.ValuesReference{{Kind: "ConfigMap", Name: "nowhere"}}
		}},
		{"AMissingKey", "ReferenceNotFound", []string{"registry", "values.yaml"}, func(a *addonsv1alpha1.SaaSAddon) {
			a.Spec.ValuesFrom = []addonsv1alpha1.ValuesReference{{Kind: "Secret", Name: "registry"}}
		}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			c := newCustomer(t)
			server := newRegistry(c)
			addon := c.addChart(server.OCI(), "1.0.0", row.spoil)
			c.eventually("it is said", func() error {
				c.reload(addon)
				for _, condition := range addon.Status.Conditions {
					if condition.Type != metav1alpha1.ConditionStalled || row.reason != "" && condition.Reason != row.reason {
						continue
					}
					for _, word := range row.says {
						if !strings.Contains(condition.Message, word) {
							return fmt.Errorf("the message lacks %q: %s", word, condition.Message)
						}
					}
					return nil
				}
				return fmt.Errorf("it says %+v", addon.Status.Conditions)
			})
			if text := fmt.Sprintf("%+v", addon.Status); strings.Contains(text, "canary") {
				t.Errorf("the status shows a secret: %s", text)
			}
		})
	}
}

func TestWhereAReleaseIsCannotBeChanged(t *testing.T) {
	c := newCustomer(t)
	addon := c.addChart("oci://registry.example/charts", "1.0.0")
	for name, change := range map[string]func(*addonsv1alpha1.SaaSAddon){
		"ToManifests": func(a *addonsv1alpha1.SaaSAddon) {
			a.Spec.Source = addonsv1alpha1.AddonSource{Manifests: &addonsv1alpha1.ManifestSource{Inline: "one"}}
		},
		"Namespace":   func(a *addonsv1alpha1.SaaSAddon) { a.Spec.Namespace = "elsewhere" },
		"ReleaseName": func(a *addonsv1alpha1.SaaSAddon) { a.Spec.Source.Chart.ReleaseName = "other" },
		"BothSources": func(a *addonsv1alpha1.SaaSAddon) {
			a.Spec.Source.Manifests = &addonsv1alpha1.ManifestSource{Inline: "one"}
		},
		"PlainHTTP": func(a *addonsv1alpha1.SaaSAddon) { a.Spec.Source.Chart.Repository = "http://registry.example" },
	} {
		c.reload(addon)
		base := addon.DeepCopy()
		change(addon)
		if err := c.Patch(c.ctx, addon, client.MergeFrom(base)); !apierrors.IsInvalid(err) {
			t.Errorf("%s: it was taken: %v", name, err)
		}
	}
}
