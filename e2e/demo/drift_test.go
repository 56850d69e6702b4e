package main

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

func TestAnEditIsUndoneOnlyAfterItWasSeen(t *testing.T) {
	declared, edited := settings(), settings()
	declared.Data = map[string]string{maxMemoryKey: maxMemory}
	edited.Data = map[string]string{maxMemoryKey: "1mb"}
	tests := map[string]struct {
		events []watch.Event
		undone bool
	}{
		"never edited":      {[]watch.Event{{Type: watch.Added, Object: declared}, {Type: watch.Modified, Object: declared}}, false},
		"left as edited":    {[]watch.Event{{Type: watch.Added, Object: declared}, {Type: watch.Modified, Object: edited}}, false},
		"edited, restored":  {[]watch.Event{{Type: watch.Modified, Object: edited}, {Type: watch.Modified, Object: declared}}, true},
		"deleted":           {[]watch.Event{{Type: watch.Added, Object: declared}, {Type: watch.Deleted, Object: declared}}, false},
		"deleted, restored": {[]watch.Event{{Type: watch.Deleted, Object: declared}, {Type: watch.Added, Object: declared}}, true},
		"made anew, wrong":  {[]watch.Event{{Type: watch.Deleted, Object: declared}, {Type: watch.Added, Object: edited}}, false},
		"something strange": {[]watch.Event{{Type: watch.Error, Object: &corev1.PodList{}}}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			watcher := watch.NewFakeWithChanSize(len(test.events), false)
			for _, event := range test.events {
				watcher.Action(event.Type, event.Object)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			if _, _, err := awaitUndone(ctx, watcher, settingDeclared); (err == nil) != test.undone {
				t.Errorf("undone: %v, want %v (%v)", err == nil, test.undone, err)
			}
		})
	}
}

func TestCulpritTellsWhatStatusKnows(t *testing.T) {
	tests := map[string]metav1alpha1.DriftCorrection{
		"Delete, v1/ConfigMap/cache/settings":                               {Operation: "Delete", Object: "v1/ConfigMap/cache/settings"},
		"Update by kubectl-edit, v1/ConfigMap/cache/settings .data.a":       {Operation: "Update", Manager: "kubectl-edit", Object: "v1/ConfigMap/cache/settings", Fields: []string{".data.a"}},
		"Apply by x, v1/ConfigMap/cache/settings .data.a and 2 more fields": {Operation: "Apply", Manager: "x", Object: "v1/ConfigMap/cache/settings", Fields: []string{".data.a", ".data.b", ".data.c"}},
	}
	for want, correction := range tests {
		if got := actor(correction); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
