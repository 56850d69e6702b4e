package objects

import (
	"encoding/json"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func labelled(labels map[string]string) metav1.ObjectMeta { return metav1.ObjectMeta{Labels: labels} }

func annotated(annotations map[string]string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Annotations: annotations}
}

// ofTools are objects that tools manage, by what people call the owner.
var ofTools = map[string]metav1.ObjectMeta{
	"Helm release a/valkey":     annotated(map[string]string{"meta.helm.sh/release-name": "valkey", "meta.helm.sh/release-namespace": "a"}),
	"Flux HelmRelease a/valkey": labelled(map[string]string{"helm.toolkit.fluxcd.io/name": "valkey", "helm.toolkit.fluxcd.io/namespace": "a"}),
	"Flux Kustomization a/apps": labelled(map[string]string{"kustomize.toolkit.fluxcd.io/name": "apps", "kustomize.toolkit.fluxcd.io/namespace": "a"}),
	"Argo CD application x:y":   annotated(map[string]string{"argocd.argoproj.io/tracking-id": "x:y"}),
	"Argo CD application shop":  labelled(map[string]string{"argocd.argoproj.io/instance": "shop"}),
	"Rancher Fleet bundle a/b": annotated(map[string]string{
		"objectset.rio.cattle.io/owner-name": "b", "objectset.rio.cattle.io/owner-namespace": "a", "objectset.rio.cattle.io/id": "default-b",
	}),
	"Sveltos profile prod": annotated(map[string]string{
		"projectsveltos.io/owner-name": "prod", "projectsveltos.io/owner-kind": "ClusterProfile", "projectsveltos.io/reference-name": "shop",
	}),
	"Sveltos, from a/shop": labelled(map[string]string{
		"projectsveltos.io/reference-kind": "ConfigMap", "projectsveltos.io/reference-name": "shop", "projectsveltos.io/reference-namespace": "a",
	}),
	"Gardener ManagedResource a/b": annotated(map[string]string{"resources.gardener.cloud/origin": "a/b"}),
}

func TestOwnersAreRecognized(t *testing.T) {
	for want, object := range ofTools {
		if got := ClaimOf(&metav1.PartialObjectMetadata{ObjectMeta: object}, "mine"); got.Owner != want || !got.ByTool {
			t.Errorf("got %+v, want %q", got, want)
		}
	}
	for want, object := range map[string]metav1.ObjectMeta{
		"ReplicaSet web-1":                       {OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "web-1", Controller: ptr.To(true)}}},
		"another installation of Daytwo (other)": labelled(map[string]string{"daytwo.dev/managed-by": "other"}),
		"":                                       labelled(map[string]string{"daytwo.dev/managed-by": "mine", "app.kubernetes.io/managed-by": "people", "app.kubernetes.io/instance": "shop"}),
	} {
		if got := ClaimOf(&metav1.PartialObjectMetadata{ObjectMeta: object}, "mine"); got.Owner != want || got.ByTool {
			t.Errorf("got %+v, want %q", got, want)
		}
	}
}

func TestALabelOfHelmsTellsOfHelmOnlyWhereOursIsNot(t *testing.T) {
	of := func(object metav1.ObjectMeta) Claim {
		return ClaimOf(&metav1.PartialObjectMetadata{ObjectMeta: object}, "mine")
	}
	object := labelled(map[string]string{"app.kubernetes.io/managed-by": "Helm"})
	if got := of(object); got != (Claim{Owner: HelmRelease, ByTool: true}) {
		t.Errorf("what somebody made with Helm belongs to %+v", got)
	}
	object.Labels["daytwo.dev/managed-by"] = "mine"
	if got := of(object); got != (Claim{}) {
		t.Errorf("a manifest of ours that was made from a chart belongs to %+v", got)
	}
	object.Annotations = ofTools["Helm release a/valkey"].Annotations
	if got := of(object); got.Owner != "Helm release a/valkey" {
		t.Errorf("what Helm took over belongs to %+v", got)
	}
}

func TestWithoutItsMarksAnObjectIsNobodys(t *testing.T) {
	for owner, object := range ofTools {
		object.Name = "kept"
		before, err := json.Marshal(corev1.ConfigMap{ObjectMeta: object, Data: map[string]string{"key": "value"}})
		if err != nil {
			t.Fatal(err)
		}
		patch, err := jsonpatch.DecodePatch(RemoveMarks(&metav1.PartialObjectMetadata{ObjectMeta: object}))
		if err != nil {
			t.Fatalf("%s: %v", owner, err)
		}
		patched, err := patch.Apply(before)
		if err != nil {
			t.Fatalf("%s: %v", owner, err)
		}
		after := corev1.ConfigMap{}
		if err := json.Unmarshal(patched, &after); err != nil {
			t.Fatal(err)
		}
		if len(after.Labels)+len(after.Annotations) != 0 || after.Name != "kept" || after.Data["key"] != "value" || ClaimOf(&after, "mine") != (Claim{}) {
			t.Errorf("%s: it is %+v", owner, after)
		}
	}
	if patch := RemoveMarks(&metav1.PartialObjectMetadata{ObjectMeta: labelled(map[string]string{"app": "shop"})}); patch != nil {
		t.Errorf("an object without marks is patched: %s", patch)
	}
}
