package reload

import (
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"github.com/daytwo-dev/daytwo/controllers/internal/managedfields"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

var (
	tlsSecret = Object{Kind: "Secret", Namespace: "shop", Name: "web-tls", Hash: "aaaa"}
	anchors   = Object{Kind: "ConfigMap", Namespace: "shop", Name: "anchors", Hash: "bbbb"}
)

// mounting is a workload of three pods that mounts the Secret, whose rollout is complete.
func mounting(kind schema.GroupVersionKind, changes ...func(*workload)) workload {
	w := workload{
		Ref: objects.Ref{GroupVersionKind: kind, Namespace: "shop", Name: "web"}, uid: "1", generation: 4,
		status: workloadStatus{
			ObservedGeneration: 4, Replicas: 3, UpdatedReplicas: 3, ReadyReplicas: 3, AvailableReplicas: 3,
			DesiredNumberScheduled: 3, UpdatedNumberScheduled: 3, NumberAvailable: 3,
		},
	}
	w.spec.Replicas = ptr.To(int32(3))
	w.spec.Template.Spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "web-tls"}}}}
	for _, change := range changes {
		change(&w)
	}
	return w
}

func annotated(object Object, hash string) func(*workload) {
	return func(w *workload) {
		if w.spec.Template.Annotations == nil {
			w.spec.Template.Annotations = map[string]string{}
		}
		w.spec.Template.Annotations[managedfields.ReloadAnnotation(object.id())] = hash
	}
}

func alsoAnchors(w *workload) {
	w.spec.Template.Spec.Containers = []corev1.Container{{EnvFrom: []corev1.EnvFromSource{{
		ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: reference("anchors")},
	}}}}
}

func TestAWorkloadIsRestartedForWhatItHasNotLoaded(t *testing.T) {
	rolling := func(w *workload) { w.status.UpdatedReplicas = 1 }
	for name, test := range map[string]struct {
		changes []func(*workload)
		// restarts are the names of the objects that it is restarted for.
		restarts, waits string
	}{
		"never annotated":                        {restarts: "web-tls"},
		"annotated with what was before":         {changes: []func(*workload){annotated(tlsSecret, "0000")}, restarts: "web-tls"},
		"annotated for another object":           {changes: []func(*workload){annotated(anchors, "aaaa")}, restarts: "web-tls"},
		"loaded":                                 {changes: []func(*workload){annotated(tlsSecret, "aaaa")}},
		"being loaded":                           {changes: []func(*workload){annotated(tlsSecret, "aaaa"), rolling}, waits: "1 of 3 pods are updated"},
		"another rollout is none of ours to see": {changes: []func(*workload){rolling}, restarts: "web-tls"},
		"of two objects, both":                   {changes: []func(*workload){alsoAnchors}, restarts: "web-tls anchors"},
		"of two objects, one":                    {changes: []func(*workload){alsoAnchors, annotated(tlsSecret, "aaaa")}, restarts: "anchors"},
		"of two objects, none":                   {changes: []func(*workload){alsoAnchors, annotated(tlsSecret, "aaaa"), annotated(anchors, "bbbb")}},
		"it goes":                                {changes: []func(*workload){func(w *workload) { w.deleted = true }}},
		"it uses neither":                        {changes: []func(*workload){rolling, func(w *workload) { w.spec.Template.Spec.Volumes = nil }}},
	} {
		t.Run(name, func(t *testing.T) {
			next := planFor(mounting(deployments, test.changes...), []Object{tlsSecret, anchors})
			if next == nil {
				next = &step{}
			}
			var names []string
			for _, object := range next.restartFor {
				names = append(names, object.Name)
			}
			if got := strings.Join(names, " "); got != test.restarts || !strings.Contains(next.waits, test.waits) || (next.waits == "") != (test.waits == "") {
				t.Errorf("it is restarted for %q, and waits for %q", got, next.waits)
			}
		})
	}
}

func TestAnAnnotationIsOfOneObjectAndOfItsContent(t *testing.T) {
	others := []Object{anchors, {Kind: "Secret", Namespace: "shop", Name: "anchors"}, {Kind: "Secret", Namespace: "web", Name: "web-tls"}, {Kind: "Secret", Namespace: "shop/web", Name: "tls"}}
	for _, other := range others {
		if other.id() == tlsSecret.id() {
			t.Errorf("%+v has the annotation of %+v", other, tlsSecret)
		}
	}
	next := tlsSecret
	if next.Hash = "cccc"; next.id() != tlsSecret.id() {
		t.Error("other content has another annotation")
	}
	body, err := annotating(mounting(statefulSets).Ref, tlsSecret)
	if err != nil {
		t.Fatal(err)
	}
	var applied struct {
		Spec struct{ Template corev1.PodTemplateSpec }
	}
	if err := json.Unmarshal(body, &applied); err != nil {
		t.Fatal(err)
	}
	if got := applied.Spec.Template.Annotations; len(got) != 1 || got["reload.certificates.daytwo.dev/"+tlsSecret.id()] != "aaaa" {
		t.Errorf("it annotates %v", got)
	}
}

func TestARolloutIsCompleteWhenAllPodsAreOfTheTemplate(t *testing.T) {
	for name, test := range map[string]struct {
		kind   schema.GroupVersionKind
		change func(*workload)
		waits  string
	}{
		"a Deployment":                  {kind: deployments},
		"a StatefulSet":                 {kind: statefulSets},
		"a DaemonSet":                   {kind: daemonSets},
		"a Deployment of no pods":       {kind: deployments, change: func(w *workload) { w.spec.Replicas, w.status = ptr.To(int32(0)), workloadStatus{ObservedGeneration: 4} }},
		"nobody has seen it":            {kind: deployments, change: func(w *workload) { w.status.ObservedGeneration = 3 }, waits: "has not seen"},
		"no controller at all":          {kind: statefulSets, change: func(w *workload) { w.status = workloadStatus{} }, waits: "has not seen"},
		"old pods":                      {kind: deployments, change: func(w *workload) { w.status.Replicas = 4 }, waits: "1 old pods have not ended"},
		"pods that are not available":   {kind: deployments, change: func(w *workload) { w.status.AvailableReplicas = 2 }, waits: "2 of 3 updated pods are available"},
		"pods that are not ready":       {kind: statefulSets, change: func(w *workload) { w.status.ReadyReplicas = 0 }, waits: "0 of 3 updated pods are available"},
		"one replica by default":        {kind: deployments, change: func(w *workload) { w.spec.Replicas = nil; w.status.UpdatedReplicas = 0 }, waits: "0 of 1 pods"},
		"a DaemonSet on the way":        {kind: daemonSets, change: func(w *workload) { w.status.UpdatedNumberScheduled = 1 }, waits: "1 of 3 pods are updated"},
		"a DaemonSet not available":     {kind: daemonSets, change: func(w *workload) { w.status.NumberAvailable = 1 }, waits: "1 of 3 updated pods"},
		"a Deployment that is paused":   {kind: deployments, change: func(w *workload) { w.spec.Paused = true; w.status.UpdatedReplicas = 0 }, waits: "resume it"},
		"pods that people have to take": {kind: statefulSets, change: func(w *workload) { w.spec.UpdateStrategy.Type = "OnDelete"; w.status.UpdatedReplicas = 0 }, waits: "OnDelete: delete its pods"},
		"OnDelete, and they have":       {kind: daemonSets, change: func(w *workload) { w.spec.UpdateStrategy.Type = "OnDelete" }},
		"a partition": {kind: statefulSets, change: func(w *workload) {
			w.spec.UpdateStrategy.RollingUpdate = &struct {
				Partition *int32 `json:"partition,omitempty"`
			}{ptr.To(int32(2))}
			w.status.UpdatedReplicas = 1
		}, waits: "its partition keeps 2 pods"},
		"a rollout that does not go on": {kind: deployments, change: func(w *workload) {
			w.status.Conditions = []condition{{Type: "Available"}, {Type: "Progressing", Reason: "ProgressDeadlineExceeded"}}
			w.status.UpdatedReplicas = 1
		}, waits: "exceeded its progress deadline"},
	} {
		t.Run(name, func(t *testing.T) {
			w := mounting(test.kind)
			if test.change != nil {
				test.change(&w)
			}
			if got := w.unfinished(); (got == "") != (test.waits == "") || !strings.Contains(got, test.waits) {
				t.Errorf("it waits for %q", got)
			}
		})
	}
}
