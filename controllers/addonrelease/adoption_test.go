package addonrelease

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/e2e/charts"
)

const toAdopt = "spec.adopt: true"

func adopts(spec *addonsv1alpha1.AddonReleaseSpec) { spec.Adopt = true }

// conflicts waits until the release tells whose an object is, and returns the message.
func (a *addon) conflicts(owner string) string {
	a.t.Helper()
	message := messageOf(a.waitFor(metav1alpha1.ConditionStalled, metav1.ConditionTrue, metav1alpha1.ReasonConflict))
	if !strings.Contains(message, owner) {
		a.t.Errorf("the message does not name %s: %s", owner, message)
	}
	return message
}

// TestManifestsTakeOverWhatAToolManagesIfTheyAdopt has objects that differ from what is declared, and some that agree by chance.
func TestManifestsTakeOverWhatAToolManagesIfTheyAdopt(t *testing.T) {
	t.Parallel()
	for tool, row := range map[string]struct {
		owner, manager string
		marks          metav1.ObjectMeta
	}{
		"Helm": {"Helm release shop/valkey", "helm", metav1.ObjectMeta{
			Annotations: map[string]string{"meta.helm.sh/release-name": "valkey", "meta.helm.sh/release-namespace": "shop"},
			Labels:      map[string]string{"app.kubernetes.io/managed-by": "Helm"},
		}},
		"HelmWithoutAName": {"a Helm release", "helm", metav1.ObjectMeta{Labels: map[string]string{"app.kubernetes.io/managed-by": "Helm"}}},
		"Flux": {"Flux Kustomization shop/apps", "kustomize-controller", metav1.ObjectMeta{
			Labels: map[string]string{"kustomize.toolkit.fluxcd.io/name": "apps", "kustomize.toolkit.fluxcd.io/namespace": "shop"},
		}},
		"ArgoCD": {"Argo CD application shop:/ConfigMap:a/b", "argocd-controller", metav1.ObjectMeta{
			Annotations: map[string]string{"argocd.argoproj.io/tracking-id": "shop:/ConfigMap:a/b"},
		}},
		"RancherFleet": {"Rancher Fleet bundle shop/apps", "fleetagent", metav1.ObjectMeta{
			Annotations: map[string]string{"objectset.rio.cattle.io/owner-name": "apps", "objectset.rio.cattle.io/owner-namespace": "shop"},
		}},
		"Sveltos": {"Sveltos profile prod", "application/apply-patch", metav1.ObjectMeta{
			Annotations: map[string]string{"projectsveltos.io/owner-name": "prod", "projectsveltos.io/owner-kind": "ClusterProfile"},
		}},
	} {
		t.Run(tool, func(t *testing.T) {
			t.Parallel()
			a := newAddon(t, fmt.Sprintf(oneConfigMap, "first"))
			a.waitReady()
			text := fmt.Sprintf(oneConfigMap, "first")
			theirs := map[string]*corev1.ConfigMap{}
			for name, data := range map[string]string{"different": "other", "same": "value"} {
				object := a.configMap(name)
				object.Labels, object.Annotations = maps.Clone(row.marks.Labels), maps.Clone(row.marks.Annotations)
				object.Data = map[string]string{"key": data}
				a.create(object, row.manager)
				theirs[name], text = object, text+"---"+fmt.Sprintf(oneConfigMap, name)
			}
			a.apply(text)
			if message := a.conflicts(row.owner); !strings.Contains(message, toAdopt) {
				t.Errorf("the message does not say how to take it over: %s", message)
			}
			a.change(func(release *addonsv1alpha1.AddonRelease) { adopts(&release.Spec) })
			a.waitReady()
			for name, before := range theirs {
				now := a.configMap(name)
				if err := a.fetch(now); err != nil {
					t.Fatal(err)
				}
				delete(now.Labels, metav1alpha1.LabelManagedBy)
				delete(now.Labels, metav1alpha1.LabelHash)
				if now.UID != before.UID || len(now.Data) != 1 || now.Data["key"] != "value" || len(now.Labels)+len(now.Annotations) != 0 {
					t.Errorf("%s was %+v and is %+v", name, before, now)
				}
			}
			a.apply(fmt.Sprintf(oneConfigMap, "first"))
			a.waitReady()
			a.waitGone(theirs["same"])
			a.waitGone(theirs["different"])
		})
	}
}

// What cannot be changed is made anew by who takes it over, if the manifest says so, whoever marked it.
func TestAnObjectThatIsTakenOverIsMadeAnewWhereThatIsAskedFor(t *testing.T) {
	t.Parallel()
	for name, annotations := range map[string]map[string]string{
		"OfATool":  {"meta.helm.sh/release-name": "valkey", "meta.helm.sh/release-namespace": "shop"},
		"OfNobody": nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAddon(t, fmt.Sprintf(oneConfigMap, "first"), adopts)
			a.waitReady()
			theirs := a.configMap("settings")
			theirs.Annotations, theirs.Immutable, theirs.Data = annotations, ptr.To(true), map[string]string{"value": "one"}
			a.create(theirs, "helm")
			a.apply(settingsThatNeverChange("two", "", "true"))
			a.waitReady()
			now := a.unchanging()
			if now.UID == theirs.UID || now.Data["value"] != "two" || now.Annotations["meta.helm.sh/release-name"] != "" {
				t.Errorf("it was %+v and is %+v", theirs, now)
			}
			for _, entry := range a.get().Status.Inventory {
				if entry.Adopted && strings.HasSuffix(entry.ID, "/settings") {
					t.Errorf("it counts as adopted, and was made: %+v", entry)
				}
			}
		})
	}
}

// A controller writes on, and so does another installation: nobody takes their objects over.
func TestNothingAdoptsWhatAControllerOrAnotherInstallationKeeps(t *testing.T) {
	t.Parallel()
	for owner, change := range map[string]func(*addon, *corev1.ConfigMap){
		"ConfigMap first": func(a *addon, object *corev1.ConfigMap) {
			object.OwnerReferences = []metav1.OwnerReference{{
				APIVersion: "v1", Kind: "ConfigMap", Name: "first", UID: a.uidOf(a.configMap("first")), Controller: ptr.To(true),
			}}
		},
		"another installation of Daytwo (other)": func(_ *addon, object *corev1.ConfigMap) {
			object.Labels = map[string]string{metav1alpha1.LabelManagedBy: "other"}
		},
	} {
		t.Run(strings.Fields(owner)[0], func(t *testing.T) {
			t.Parallel()
			a := newAddon(t, fmt.Sprintf(oneConfigMap, "first"), adopts)
			a.waitReady()
			theirs := a.configMap("theirs")
			change(a, theirs)
			a.create(theirs, "somebody")
			a.apply(fmt.Sprintf(oneConfigMap, "first") + "---" + fmt.Sprintf(oneConfigMap, "theirs"))
			if message := a.conflicts(owner); strings.Contains(message, toAdopt) {
				t.Errorf("the message names a way that is none: %s", message)
			}
			if err := a.fetch(theirs); err != nil || len(theirs.Data) != 0 {
				t.Errorf("it was written to: %v, %v", err, theirs.Data)
			}
		})
	}
}

// Who renames an add-on creates it under the new name, and lets the old one go with what it made. Nothing is deleted meanwhile.
func TestARenamedAddonKeepsItsObjects(t *testing.T) {
	t.Parallel()
	orphan := func(spec *addonsv1alpha1.AddonReleaseSpec) { spec.DeletionPolicy = metav1alpha1.DeletionPolicyOrphan }
	for name, row := range map[string]struct {
		content func(*addon) string
		kept    func(*addon) client.Object
	}{
		"Manifests": {
			func(a *addon) string { return a.revision(fmt.Sprintf(oneConfigMap, "kept")) },
			func(a *addon) client.Object { return a.configMap("kept") },
		},
		"Chart": {
			func(a *addon) string { return a.chart("web", charts.FirstVersion, `{"replicas": 2}`) },
			func(a *addon) client.Object {
				return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: "shop-web"}}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			old := declareAddon(t, "")
			old.start(row.content(old), orphan)
			old.waitReady()
			before := old.uidOf(row.kept(old))
			t.Run("New", func(t *testing.T) {
				renamed := declareAddon(t, old.namespace)
				renamed.start(row.content(renamed))
				renamed.conflicts("SaaSAddon " + client.ObjectKeyFromObject(old.policy).String())
				old.end()
				renamed.waitReady()
				if after := old.uidOf(row.kept(old)); after != before {
					t.Errorf("its UID was %s and is %s", before, after)
				}
			})
		})
	}
}
