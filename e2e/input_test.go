package e2e

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/prometheus/procfs"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
)

func TestBadInputIsNamed(t *testing.T) {
	t.Parallel()
	t.Run("AtAdmission", testRefusedAtAdmission)
	t.Run("InAnAddonsConditions", testAddonConditions)
	t.Run("InATenantClustersConditions", testTenantClusterConditions)
}

func testRefusedAtAdmission(t *testing.T) {
	t.Parallel()
	c := newCustomer(t, 0, 0)
	tooLong := strings.Repeat("x", 64)
	reference := &tenancyv1alpha1.KubeconfigReference{Name: "access"}
	addon := func(change func(*addonsv1alpha1.SaaSAddon)) client.Object {
		made := c.newAddon("bad", fmt.Sprintf(oneConfigMap, "blue"))
		change(made)
		return made
	}
	cluster := func(name string, spec tenancyv1alpha1.TenantClusterSpec) client.Object {
		return &tenancyv1alpha1.TenantCluster{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: name}, Spec: spec}
	}
	for _, row := range []struct {
		name   string
		object client.Object
		says   []string
	}{
		{"BothReferences", cluster("bad", tenancyv1alpha1.TenantClusterSpec{
			KubeconfigRef: reference, ClusterRef: &metav1alpha1.LocalReference{Name: "prod"},
		}), []string{"bad", "exactly one of kubeconfigRef, clusterRef and topology must be set"}},
		{"NoReference", cluster("bad", tenancyv1alpha1.TenantClusterSpec{Suspend: true}),
			[]string{"exactly one of kubeconfigRef, clusterRef and topology must be set"}},
		{"ALongNameOfACluster", cluster(tooLong, tenancyv1alpha1.TenantClusterSpec{KubeconfigRef: reference}),
			[]string{"metadata.name must be at most 63 characters"}},
		{"ALongNameOfAnAddon", addon(func(a *addonsv1alpha1.SaaSAddon) { a.Name = tooLong }),
			[]string{"metadata.name must be at most 63 characters"}},
		{"NoSelector", addon(func(a *addonsv1alpha1.SaaSAddon) { a.Spec.ClusterSelector = nil }),
			[]string{"set clusterSelector, clusterNames, or both"}},
		{"NoManifests", addon(func(a *addonsv1alpha1.SaaSAddon) { a.Spec.Source.Manifests = &addonsv1alpha1.ManifestSource{} }),
			[]string{"spec.source.manifests", "set inline, configMapRefs, or both"}},
		{"AnUnknownDriftMode", addon(func(a *addonsv1alpha1.SaaSAddon) { a.Spec.Drift.Mode = "Sometimes" }),
			[]string{"spec.drift.mode", "Sometimes", "Correct"}},
		{"TwoMebibytesInline", addon(func(a *addonsv1alpha1.SaaSAddon) { a.Spec.Source.Manifests.Inline = strings.Repeat("#", 2<<20) }),
			[]string{"spec.source.manifests.inline", "524288"}},
		{"ANamespaceThatIsNone", addon(func(a *addonsv1alpha1.SaaSAddon) { a.Spec.Namespace = "Not_A_Namespace" }),
			[]string{"spec.namespace"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			err := env.Admin.Create(t.Context(), row.object)
			if !apierrors.IsInvalid(err) {
				t.Fatalf("got %v, and it should be refused as invalid", err)
			}
			if err := says(err.Error(), row.says...); err != nil {
				t.Error(err)
			}
		})
	}
}

func testAddonConditions(t *testing.T) {
	t.Parallel()
	c := newCustomer(t, 0, 1)
	cluster := c.clusters.bare[0]
	// The expensive ones come first, so that the others have to get past them.
	looping, large := c.newAddon("endless", endless), c.newAddon("huge", hundredMebibytes)
	must(t, env.Admin.Create(t.Context(), looping))
	must(t, env.Admin.Create(t.Context(), large))
	c.install("meanwhile", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: meanwhile}\n")

	t.Run("NamespacesOfOthers", func(t *testing.T) {
		c := c.in(t)
		addon := c.newAddon("nosy", fmt.Sprintf(oneConfigMap, "blue"))
		addon.Spec.ClusterNamespaceSelector = &metav1.LabelSelector{}
		must(t, env.Admin.Create(t.Context(), addon))
		c.awaitAddonCondition(addon, metav1alpha1.ConditionStalled, metav1.ConditionTrue, metav1alpha1.ReasonSelectorNotAllowed,
			"spec.clusterNamespaceSelector", "daytwo-system")
	})
	t.Run("AClusterThatDoesNotExist", func(t *testing.T) {
		c := c.in(t)
		addon := c.newAddon("astray", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: astray}\n")
		addon.Spec.ClusterNames = []string{"nowhere"}
		must(t, env.Admin.Create(t.Context(), addon))
		c.awaitAddonCondition(addon, metav1alpha1.ConditionReady, metav1.ConditionFalse, "", "spec.clusterNames", "nowhere")
	})
	t.Run("AMissingConfigMap", func(t *testing.T) {
		c := c.in(t)
		addon := c.newAddon("incomplete", "")
		addon.Spec.Source.Manifests.ConfigMapRefs = []metav1alpha1.LocalReference{{Name: "more"}}
		must(t, env.Admin.Create(t.Context(), addon))
		c.awaitAddonCondition(addon, metav1alpha1.ConditionStalled, metav1.ConditionTrue, metav1alpha1.ReasonReferenceNotFound,
			"ConfigMap "+c.namespace+"/more", "configMapRefs", "create it")
		c.createManifests("more", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: incomplete}\n")
		c.awaitReady(addon)
	})
	t.Run("TwoMebibytesInConfigMaps", func(t *testing.T) {
		c := c.in(t)
		addon, all := c.newAddon("large", ""), map[string]string{}
		for i := range 3 {
			name := fmt.Sprintf("large-%d", i)
			all[name] = incompressible(700_000)
			c.createManifests(name, fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: {text: %s}\n", name, all[name]))
			addon.Spec.Source.Manifests.ConfigMapRefs = append(addon.Spec.Source.Manifests.ConfigMapRefs, metav1alpha1.LocalReference{Name: name})
		}
		must(t, env.Admin.Create(t.Context(), addon))
		c.awaitReady(addon)
		for name, text := range all {
			live := &corev1.ConfigMap{}
			must(t, c.workload(cluster).Get(t.Context(), client.ObjectKey{Namespace: "default", Name: name}, live))
			if live.Data["text"] != text {
				t.Errorf("%s arrived with %d bytes of %d", name, len(live.Data["text"]), len(text))
			}
		}
	})
	t.Run("RenderLimits", func(t *testing.T) {
		c := c.in(t)
		// The add-ons tell of the limit: by their trials, or by their cluster where three trials came to nothing on a busy machine.
		c.awaitAddonCondition(large, metav1alpha1.ConditionReady, metav1.ConditionFalse, "", "10 MiB", cluster)
		c.awaitAddonMessage(looping, metav1alpha1.ConditionReady, metav1.ConditionFalse, "", func(told string) error {
			if machineIsBusy() && says(told, cluster, "too busy to render", "give the manager more processors") == nil {
				return nil // It is the truth: a rendering that gives way may then get no ten seconds of a processor.
			}
			return says(told, "10s", "loop", cluster)
		})
	})
}

// machineIsBusy is whether more than two threads a processor ran or waited to run, on average in the last minute. It is not told outside
// of Linux.
func machineIsBusy() bool {
	proc, err := procfs.NewDefaultFS()
	if err != nil {
		return false
	}
	average, err := proc.LoadAvg()
	return err == nil && average.Load1 > 2*float64(runtime.NumCPU())
}

// Templates that would take hours, and 100 MiB.
var (
	endless          = "# {{ range until 100000 }}{{ range until 100000 }}{{ end }}{{ end }}\n"
	hundredMebibytes = "# {{ range until 102400 }}" + strings.Repeat("x", 1<<10) + "{{ end }}\n"
)

// incompressible text of so many bytes.
func incompressible(bytes int) string {
	random := make([]byte, bytes)
	_, _ = rand.Read(random) // It never fails.
	return base64.URLEncoding.EncodeToString(random)[:bytes]
}

// createManifests puts manifests into a ConfigMap.
func (c *customer) createManifests(name, manifests string) {
	c.Helper()
	must(c, env.Admin.Create(c.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: name}, Data: map[string]string{"manifests.yaml": manifests},
	}))
}
