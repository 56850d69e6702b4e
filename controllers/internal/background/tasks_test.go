package background

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var (
	errFinal    = errors.New("no such bucket")
	errNoAnswer = errors.New("no answer")
)

func newTasks(t *testing.T) *Tasks[string] {
	tasks := New[string](func(err error) bool { return errors.Is(err, errFinal) })
	t.Cleanup(tasks.Close)
	return tasks
}

func idOf(namespace, name string) ID {
	return ID{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}, UID: "1", Task: "read"}
}

func inAnHour() time.Time { return time.Now().Add(time.Hour) }

func TestATaskTellsWhatItFound(t *testing.T) {
	tasks, id := newTasks(t), idOf("acme", "weekly")
	tasks.Start(id, inAnHour(), func(context.Context) (string, error) { return "found", nil })
	if woken := <-tasks.woken; client.ObjectKeyFromObject(woken.Object) != id.NamespacedName {
		t.Errorf("woke %v", woken.Object)
	}
	if told := tasks.Progress(id); !told.Done || told.Err != nil || told.Running || told.Result != "found" {
		t.Fatalf("got %+v", told)
	}
	again := id
	again.UID = "another"
	if told := tasks.Progress(again); told.Done {
		t.Error("another object of that name is taken for this one")
	}
	if tasks.Forget(id.NamespacedName); tasks.Progress(id).Done {
		t.Error("what is forgotten is told")
	}
}

func TestATaskIsTriedAgainUntilAnErrorIsFinal(t *testing.T) {
	tasks, id := newTasks(t), idOf("acme", "weekly")
	var last time.Time
	for try := range 3 {
		tasks.Start(id, inAnHour(), func(context.Context) (string, error) { return "", errNoAnswer })
		<-tasks.woken
		told := tasks.Progress(id)
		if told.Running || told.Done || told.Err == nil || !told.Again.After(last) {
			t.Errorf("after try %d: %+v", try, told)
		}
		last = told.Again
	}
	tasks.Start(id, inAnHour(), func(context.Context) (string, error) { return "", fmt.Errorf("read: %w", errFinal) })
	<-tasks.woken
	if told := tasks.Progress(id); told.Running || !told.Done || !errors.Is(told.Err, errFinal) {
		t.Errorf("after the last: %+v", told)
	}
}

func TestATaskThatMissesItsDeadlineSaysSo(t *testing.T) {
	tasks, id := newTasks(t), idOf("acme", "weekly")
	tasks.Start(id, time.Now(), func(ctx context.Context) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	})
	<-tasks.woken
	if told := tasks.Progress(id); told.Running || told.Done || !errors.Is(told.Err, context.DeadlineExceeded) || told.Again.IsZero() {
		t.Errorf("got %+v", told)
	}
}

// What a deadline cuts off says nothing of the cause, so that of the try before is told, and while another one runs.
func TestTheCauseOutlivesTheTryAfterIt(t *testing.T) {
	tasks, id := newTasks(t), idOf("acme", "weekly")
	tasks.Start(id, inAnHour(), func(context.Context) (string, error) { return "", errNoAnswer })
	<-tasks.woken
	cutOff := func(ctx context.Context) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	}
	tasks.Start(id, inAnHour(), cutOff)
	if told := tasks.Progress(id); !told.Running || !errors.Is(told.Err, errNoAnswer) || !told.Again.IsZero() {
		t.Errorf("while it runs: %+v", told)
	}
	tasks.Start(id, time.Now(), cutOff)
	<-tasks.woken
	if told := tasks.Progress(id); told.Running || !errors.Is(told.Err, errNoAnswer) || told.Again.IsZero() {
		t.Errorf("after its deadline: %+v", told)
	}
	tasks.Start(id, inAnHour(), func(context.Context) (string, error) { return "found", nil })
	<-tasks.woken
	if told := tasks.Progress(id); !told.Done || told.Err != nil {
		t.Errorf("in the end: %+v", told)
	}
}

// Tasks of one namespace that never end leave room for those of others.
func TestTasksOfOneNamespaceHoldUpNobodyElse(t *testing.T) {
	tasks := newTasks(t)
	for _, name := range strings.Split("a b c d e f g h i j k l m n o p q", " ") {
		tasks.Start(idOf("slow", name), inAnHour(), func(ctx context.Context) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		})
	}
	tasks.Start(idOf("acme", "weekly"), inAnHour(), func(context.Context) (string, error) { return "", nil })
	if woken := <-tasks.woken; woken.Object.GetNamespace() != "acme" {
		t.Errorf("woke %v", woken.Object)
	}
}

func TestPausesBetweenTriesAreThoseThatWereAskedFor(t *testing.T) {
	now := time.Unix(1000, 0)
	tasks, id := newTasks(t).WithRetries(wait.Backoff{Duration: time.Minute, Factor: 4, Steps: 1 << 30, Cap: 5 * time.Minute}, testclock.NewFakePassiveClock(now)), idOf("acme", "weekly")
	for try, want := range []time.Duration{time.Minute, 4 * time.Minute, 5 * time.Minute, 5 * time.Minute} {
		tasks.Start(id, inAnHour(), func(context.Context) (string, error) { return "", errNoAnswer })
		<-tasks.woken
		if got := tasks.Progress(id).Again.Sub(now); got != want {
			t.Errorf("after try %d it pauses for %s, not for %s", try, got, want)
		}
	}
}
