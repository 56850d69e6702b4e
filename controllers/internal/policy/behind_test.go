package policy

import (
	"context"
	"strconv"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

// lagging has a policy as the API server has it, of which the cache is not told.
type lagging struct {
	client.Client
	stored *addonsv1alpha1.SaaSAddon
}

func (c *lagging) Status() client.SubResourceWriter { return laggingStatus{lagging: c} }

type laggingStatus struct {
	client.SubResourceWriter
	lagging *lagging
}

func (s laggingStatus) Patch(_ context.Context, object client.Object, _ client.Patch, _ ...client.SubResourcePatchOption) error {
	stored, written := s.lagging.stored, object.(*addonsv1alpha1.SaaSAddon)
	version, err := strconv.Atoi(stored.ResourceVersion)
	if err != nil {
		return err
	}
	stored.ResourceVersion, stored.Status = strconv.Itoa(version+1), written.Status
	*written = *stored.DeepCopy()
	return nil
}

func (c *lagging) ready() metav1.ConditionStatus {
	return meta.FindStatusCondition(c.stored.Status.Conditions, metav1alpha1.ConditionReady).Status
}

// A target is not ready for a moment. What is told afterwards equals what the cache has still, and not what is stored.
func TestAStatusIsWrittenThatEqualsOneOfBefore(t *testing.T) {
	room := newBenchmarkRoom(t, 1)
	server := &lagging{Client: room.Client, stored: &addonsv1alpha1.SaaSAddon{}}
	if err := room.Client.Get(t.Context(), room.policy, server.stored); err != nil {
		t.Fatal(err)
	}
	room.Client = server
	told := func(ready metav1.ConditionStatus) {
		t.Helper()
		before := room.targets[0]
		after := before.DeepCopy()
		version, err := strconv.Atoi(before.ResourceVersion)
		if err != nil {
			t.Fatal(err)
		}
		after.ResourceVersion = strconv.Itoa(version + 1)
		after.Status.Conditions[0].Status, after.Status.Conditions[0].Reason = ready, metav1alpha1.ReasonProgressing
		room.targets[0] = after
		room.store("AddonRelease", after)
		room.targetEvents().Update(t.Context(), event.UpdateEvent{ObjectOld: before, ObjectNew: after}, room.queue)
		if _, err := room.Reconcile(t.Context(), reconcile.Request{NamespacedName: room.policy}); err != nil {
			t.Fatal(err)
		}
		if server.ready() != ready {
			t.Errorf("the target's Ready is %s, the policy's %s", ready, server.ready())
		}
	}
	told(metav1.ConditionTrue)
	room.store("SaaSAddon", server.stored.DeepCopy())
	told(metav1.ConditionFalse)
	told(metav1.ConditionTrue)
	told(metav1.ConditionFalse)
}
