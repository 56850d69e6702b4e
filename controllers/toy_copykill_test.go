package controllers

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

// copyPhase is something in the life of a CopyRun in which a manager is killed.
type copyPhase struct {
	name string
	// act begins it, with a run that is under way if underWay is true.
	underWay bool
	act      func(*toyEnv, string)
	// ends says how the run has not come to its end, and does what people do until then.
	ends func(*toyEnv, string) string
	// copies that were made in all.
	copies int
}

var copyPhases = []copyPhase{
	{name: "Copy", act: func(w *toyEnv, name string) { w.createCopy(name, "two", asItIs) }, ends: (*toyEnv).copyEnds, copies: 1},
	{name: "Cancel", underWay: true, act: func(w *toyEnv, name string) {
		w.changeCopy(name, func(of *CopyRun) { of.Spec.Cancel = true })
	}, ends: func(w *toyEnv, name string) string {
		return w.finished(name, metav1alpha1.RunCancelled, "spec.cancel is true", "two")
	}, copies: 1},
	{name: "Delete", underWay: true, act: (*toyEnv).deleteRun, ends: (*toyEnv).copyGone, copies: 1},
}

// copyEnds checks a copy as soon as there is one.
func (w *toyEnv) copyEnds(name string) string {
	if ended := w.finished(name, metav1alpha1.RunSucceeded, "copied to two", "two"); ended != "" {
		w.check("two", name, "good")
		return ended
	}
	return ""
}

// playCopy lets one write be the last. It returns whether there was such a write.
func (w *toyEnv) playCopy(p copyPhase, name string, last int) bool {
	w.t.Helper()
	witness := w.witnessCopies(name)
	if p.underWay {
		w.createCopy(name, "two", asItIs)
		w.await(func() string { return w.underWay(name) })
	}
	blown := w.failpoint.arm(last)
	p.act(w, name)
	blew := w.blows(blown, func() string { return p.ends(w, name) })
	if blew {
		w.end()
		w.restarted()
	}
	w.await(func() string { return p.ends(w, name) })
	if made := witness(); made != p.copies {
		w.t.Errorf("%d copies were made, want %d", made, p.copies)
	}
	return blew
}

// witnessCopies counts the copies that are ever made in two, until the returned function is called.
func (w *toyEnv) witnessCopies(name string) func() int {
	w.t.Helper()
	ctx, stop := context.WithCancel(w.t.Context())
	events, err := w.clusters["two"].Watch(ctx, &corev1.ConfigMapList{}, client.InNamespace("default"), client.HasLabels{metav1alpha1.LabelAction})
	if err != nil {
		stop()
		w.t.Fatal(err)
	}
	made, ended, until := map[string]bool{}, make(chan error, 1), name+"-seen"
	go func() {
		for event := range events.ResultChan() {
			one, ok := event.Object.(*corev1.ConfigMap)
			if !ok {
				ended <- fmt.Errorf("the watch ended: %v", event.Object)
				return
			}
			if one.Name == until {
				ended <- nil
				return
			}
			if event.Type == watch.Added && one.Data["text"] == name {
				made[string(one.UID)] = true
			}
		}
		ended <- fmt.Errorf("the watch ended")
	}()
	return func() int {
		w.t.Helper()
		defer stop()
		last := &corev1.ConfigMap{}
		last.Namespace, last.Name, last.Labels = "default", until, map[string]string{metav1alpha1.LabelAction: "last"}
		if err := w.clusters["two"].Create(w.t.Context(), last); err != nil {
			w.t.Fatal(err)
		}
		if err := <-ended; err != nil {
			w.t.Fatal(err)
		}
		return len(made)
	}
}
