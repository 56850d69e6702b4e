package run

import (
	"context"
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

type doings = tasks[metav1alpha1.RunStatus]

func newTasks(t *testing.T) *doings {
	d := &doings{woken: make(chan event.GenericEvent)}
	t.Cleanup(d.close)
	return d
}

// withTask is a run whose task read is under way for an hour.
func withTask(namespace, name string) *drill {
	of := underWay().Run
	of.Namespace, of.Name = namespace, name
	of.status.Tasks = []metav1alpha1.RunTask{{Name: "read", Deadline: metav1.NewTime(time.Now().Add(time.Hour))}}
	return of
}

type done = func(*metav1alpha1.RunStatus)

func TestATaskTellsWhatItFound(t *testing.T) {
	d, of := newTasks(t), withTask("acme", "weekly")
	d.start(of, of.status.Tasks[0], func(context.Context) (done, error) {
		return func(status *metav1alpha1.RunStatus) { status.Message = "found" }, nil
	})
	if woken := <-d.woken; client.ObjectKeyFromObject(woken.Object) != client.ObjectKeyFromObject(of) {
		t.Errorf("woke %v", woken.Object)
	}
	told := d.progressOf(of)
	if !told.done || told.err != nil || told.underWay {
		t.Fatalf("got %+v", told)
	}
	told.record(&of.status)
	if of.status.Message != "found" {
		t.Errorf("the status says %q", of.status.Message)
	}
	again := withTask("acme", "weekly")
	again.UID = "another"
	if told := d.progressOf(again); told.done {
		t.Error("another run of that name is taken for this one")
	}
	if d.forget(client.ObjectKeyFromObject(of)); d.progressOf(of).done {
		t.Error("what is forgotten is told")
	}
}

func TestATaskIsTriedAgainUntilItIsRefused(t *testing.T) {
	d, of := newTasks(t), withTask("acme", "weekly")
	var last time.Time
	for try := range 3 {
		d.start(of, of.status.Tasks[0], func(context.Context) (done, error) { return nil, errors.New("no answer") })
		<-d.woken
		told := d.progressOf(of)
		if told.underWay || told.done || told.err == nil || !told.again.After(last) {
			t.Errorf("after try %d: %+v", try, told)
		}
		last = told.again
	}
	d.start(of, of.status.Tasks[0], func(context.Context) (done, error) { return nil, &Refusal{"no such bucket"} })
	<-d.woken
	if told := d.progressOf(of); told.underWay || !told.done || told.err.Error() != "no such bucket" {
		t.Errorf("after the last: %+v", told)
	}
}

// Tasks of one namespace that never end leave room for those of others.
func TestTasksOfOneNamespaceHoldUpNobodyElse(t *testing.T) {
	d := newTasks(t)
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q"} {
		of := withTask("slow", name)
		d.start(of, of.status.Tasks[0], func(ctx context.Context) (done, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
	}
	of := withTask("acme", "weekly")
	d.start(of, of.status.Tasks[0], func(context.Context) (done, error) { return nil, nil })
	if woken := <-d.woken; woken.Object.GetNamespace() != "acme" {
		t.Errorf("woke %v", woken.Object)
	}
}
