package objects

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func TestOwnersAreRecognized(t *testing.T) {
	rows := map[string]metav1.ObjectMeta{
		"Helm release a/valkey":                  {Annotations: map[string]string{"meta.helm.sh/release-name": "valkey", "meta.helm.sh/release-namespace": "a"}},
		"Flux Kustomization a/apps":              {Labels: map[string]string{"kustomize.toolkit.fluxcd.io/name": "apps", "kustomize.toolkit.fluxcd.io/namespace": "a"}},
		"Argo CD application x:y":                {Annotations: map[string]string{"argocd.argoproj.io/tracking-id": "x:y"}},
		"a Helm release":                         {Labels: map[string]string{"app.kubernetes.io/managed-by": "Helm"}},
		"ReplicaSet web-1":                       {OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "web-1", Controller: ptr.To(true)}}},
		"":                                       {Labels: map[string]string{"daytwo.dev/managed-by": "mine", "app.kubernetes.io/managed-by": "people"}},
		"another installation of Daytwo (other)": {Labels: map[string]string{"daytwo.dev/managed-by": "other"}},
	}
	fromAChart := metav1.ObjectMeta{Labels: map[string]string{"app.kubernetes.io/managed-by": "Helm", "daytwo.dev/managed-by": "mine"}}
	if got := ClaimedBy(&metav1.PartialObjectMetadata{ObjectMeta: fromAChart}, "mine"); got != "" {
		t.Errorf("a manifest of ours that was made from a chart belongs to %s", got)
	}
	fromAChart.Annotations = rows["Helm release a/valkey"].Annotations
	if got := ClaimedBy(&metav1.PartialObjectMetadata{ObjectMeta: fromAChart}, "mine"); got != "Helm release a/valkey" {
		t.Errorf("what Helm took over belongs to %q", got)
	}
	for want, object := range rows {
		if got := ClaimedBy(&metav1.PartialObjectMetadata{ObjectMeta: object}, "mine"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
