package standstill

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

var (
	start = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	web   = Unhealthy{Inputs: "one", Object: objects.Ref{
		GroupVersionKind: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, Namespace: "web", Name: "web",
	}}
)

// fakeCluster counts what is read of it.
type fakeCluster struct {
	reads  int
	broken bool
}

func (c *fakeCluster) Lookup(context.Context, objects.Ref) (map[string]any, error) {
	if c.broken {
		return nil, errors.New("no answer")
	}
	return map[string]any{"spec": map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"app": "web"}}}}, nil
}

func (c *fakeCluster) Pods(_ context.Context, namespace, selector string) ([]corev1.Pod, error) {
	if c.reads++; namespace != "web" || selector != "app=web" {
		return nil, errors.New("other pods")
	}
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-1"}}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "no nodes"}}
	return []corev1.Pod{pod}, nil
}

func TestPodsAreReadOnceAnObjectHasBeenUnhealthyForAWhileAndThenEverMoreRarely(t *testing.T) {
	cluster, memory := &fakeCluster{}, &Memory{}
	look := func(after time.Duration) (Standstill, time.Duration) {
		found, again := memory.Look(t.Context(), cluster, web, time.Minute, start.Add(after))
		return found, again.Sub(start)
	}
	if found, again := look(0); found != (Standstill{}) || again != time.Minute || cluster.reads != 0 {
		t.Errorf("at first: %+v, again after %s, %d reads", found, again, cluster.reads)
	}
	found, again := look(time.Minute)
	if found.Why != "pod web-1 is not scheduled: no nodes" || !found.Since.Equal(start) || again != 2*time.Minute || cluster.reads != 1 {
		t.Errorf("after a while: %+v, again after %s, %d reads", found, again, cluster.reads)
	}
	for after := time.Minute; after < time.Hour; after += time.Second {
		look(after)
	}
	if cluster.reads < 5 || cluster.reads > 12 {
		t.Errorf("%d reads in an hour", cluster.reads)
	}
}

func TestAnotherRevisionBeginsAnew(t *testing.T) {
	cluster, memory := &fakeCluster{}, &Memory{}
	memory.Look(t.Context(), cluster, web, time.Minute, start)
	next := web
	next.Inputs, next.Since = "two", start
	if found, _ := memory.Look(t.Context(), cluster, next, time.Minute, start.Add(time.Hour)); found != (Standstill{}) || cluster.reads != 0 {
		t.Errorf("got %+v", found)
	}
}

func TestAfterAStartTheStatusTellsSinceWhen(t *testing.T) {
	found := web
	found.Since = start
	memory := &Memory{}
	if got, _ := memory.Look(t.Context(), &fakeCluster{broken: true}, found, time.Minute, start.Add(time.Hour)); !got.Since.Equal(start) || got.Why != "" {
		t.Errorf("got %+v", got)
	}
}
