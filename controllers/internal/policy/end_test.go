package policy

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	testingclock "k8s.io/utils/clock/testing"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
)

// ending counts what is written to a policy, and has nothing in the API server.
type ending struct {
	client.Client
	patches int
}

func (c *ending) Patch(context.Context, client.Object, client.Patch, ...client.PatchOption) error {
	c.patches++
	return nil
}

func (c *ending) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	if _, live := list.(*metav1.PartialObjectMetadataList); live {
		return nil
	}
	return c.Client.List(context.Background(), list, options...)
}

// The cache is behind: it has the policy still, whose finalizer is gone, when an event of what went with it comes.
func TestAPolicyThatEndedIsNotEndedAgain(t *testing.T) {
	room := newToyRoom(t, toyKind{})
	policy := &addonsv1alpha1.SaaSAddon{}
	if err := room.Client.Get(t.Context(), room.policy, policy); err != nil {
		t.Fatal(err)
	}
	policy.DeletionTimestamp = &metav1.Time{Time: noon}
	cache := room.caches[addonsv1alpha1.GroupVersion.WithKind("SaaSAddon")].GetIndexer()
	if err := cache.Update(policy); err != nil {
		t.Fatal(err)
	}
	clock := testingclock.NewFakePassiveClock(noon)
	writes := &ending{Client: room.Client}
	room.Client, room.APIReader, room.Clock = writes, writes, clock
	reconcileAt := func(now time.Time) {
		t.Helper()
		clock.SetTime(now)
		again, err := room.Reconcile(t.Context(), reconcile.Request{NamespacedName: room.policy})
		if err != nil || again.RequeueAfter == 0 {
			t.Errorf("at %s it is reconciled again after %s, %v", now, again.RequeueAfter, err)
		}
	}
	reconcileAt(noon)
	reconcileAt(noon.Add(time.Second))
	if writes.patches != 1 {
		t.Errorf("%d patches", writes.patches)
	}
	// What answered was no API server: the policy is there still.
	reconcileAt(noon.Add(time.Minute))
	if writes.patches != 2 {
		t.Errorf("after a minute %d patches", writes.patches)
	}
	// Another one of its name is not taken for it.
	policy = policy.DeepCopy()
	policy.UID = "2"
	if err := cache.Update(policy); err != nil {
		t.Fatal(err)
	}
	reconcileAt(noon.Add(time.Minute + time.Second))
	if writes.patches != 3 {
		t.Errorf("another policy of the name has %d patches", writes.patches-2)
	}
}
