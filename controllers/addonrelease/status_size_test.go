package addonrelease

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/target"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/recordable"
)

// manyObjects declares ConfigMaps whose names have a length, in bytes.
func manyObjects(count, length int) []apply.Object {
	list := make([]apply.Object, 0, count)
	for i := range count {
		name := fmt.Sprintf("%04d-%s", i, strings.Repeat("n", length-5))
		ref := configMapRef(name)
		list = append(list, apply.Object{Ref: ref, Hash: "0123456789abcdef", Body: []byte(`{"data":{"a":"1","b":"2"},"spec":{"replicas":1}}`)})
	}
	return list
}

func ignoring(pointers ...string) func(*observation) {
	return func(o *observation) {
		o.Target.Spec.Drift.Ignore = []metav1alpha1.DriftIgnore{{JSONPointers: pointers}}
	}
}

func TestWhatCouldNotBeRecordedIsNotApplied(t *testing.T) {
	many := make([]string, 0, apply.MaxRelinquished+1)
	fields := map[string]any{}
	for i := range apply.MaxRelinquished + 1 {
		many = append(many, fmt.Sprintf("/data/key-%d", i))
		fields[fmt.Sprintf("key-%d", i)] = "x"
	}
	body, err := json.Marshal(map[string]any{"data": fields})
	if err != nil {
		t.Fatal(err)
	}
	wide := apply.Object{Ref: configMapRef("wide"), Body: body}
	for name, test := range map[string]struct {
		desired []apply.Object
		change  func(*observation)
		says    string
	}{
		"as many as an add-on may have":      {desired: manyObjects(apply.MaxInventory, 200)},
		"very long names, and as many":       {desired: manyObjects(apply.MaxInventory, 253+253+253), says: "KiB"},
		"very long names, and few":           {desired: manyObjects(100, 253)},
		"one revision instead of another":    {desired: manyObjects(apply.MaxInventory, 60), change: holding(apply.MaxInventory)},
		"a third one before that is done":    {desired: manyObjects(apply.MaxInventory, 60), change: holding(apply.MaxInventory + 1), says: "several steps"},
		"fields that nobody declares":        {desired: manyObjects(1, 60), change: ignoring(many...)},
		"more fields than are kept track of": {desired: []apply.Object{wide}, change: ignoring(many...), says: "spec.drift.ignore names 33 fields that ConfigMap cache/wide declares"},
		"a long list of fields everywhere":   {desired: manyObjects(apply.MaxInventory, 253), change: ignoring("/data/a", "/data/b", "/spec/replicas", "/"+strings.Repeat("x", 500))},
	} {
		t.Run(name, func(t *testing.T) {
			o := scene()
			o.Inventory = apply.Inventory{}
			if test.change != nil {
				test.change(o)
			}
			o.Desired = test.desired
			err := releases.CheckRecordable(o)
			var unrecordable *recordable.Error
			if (err != nil) != (test.says != "") || err != nil && (!errors.As(err, &unrecordable) || !strings.Contains(err.Error(), test.says)) {
				t.Fatalf("it says %v, want %q", err, test.says)
			}
			if err != nil {
				o.Problem = err
				next := newReport(o, target.Plan{}, result{}, target.Shown{}).status
				if stalled := meta.FindStatusCondition(next.Conditions, metav1alpha1.ConditionStalled); stalled == nil || stalled.Reason != metav1alpha1.ReasonStatusTooLarge {
					t.Errorf("the conditions are %+v", next.Conditions)
				}
			}
		})
	}
}

// holding is an inventory of so many other objects.
func holding(count int) func(*observation) {
	return func(o *observation) {
		for i := range count {
			ref := configMapRef(fmt.Sprintf("other-%d", i))
			o.Inventory[ref.Key()] = apply.Entry{Ref: ref, UID: "6a1c1f7e-3d52-4d6e-9d0b-0f5a1c2b3d4e"}
		}
	}
}

// A workload cluster may answer with anything.
func TestAStatusThatWouldNotFitSaysSo(t *testing.T) {
	o := scene()
	ref := configMapRef("hostile")
	done := result{Result: apply.Result{Written: []apply.Written{succeeded(ref, apply.PurposeCreate)}}}
	o.Inventory[ref.Key()] = apply.Entry{Ref: ref, UID: types.UID(strings.Repeat("u", recordable.MaxStored))}
	next := newReport(o, target.Plan{}, done, target.Shown{}).status
	if size := recordable.SizeOf(next); size > recordable.MaxStored {
		t.Errorf("the status has %d bytes", size)
	}
	ready := meta.FindStatusCondition(next.Conditions, metav1alpha1.ConditionReady)
	if ready == nil || ready.Status != metav1.ConditionFalse || ready.Reason != metav1alpha1.ReasonStatusTooLarge || len(next.Inventory) != len(done.status.Inventory) {
		t.Errorf("Ready is %+v, with %d entries", ready, len(next.Inventory))
	}
}

// The limit is below that of a real etcd, with all that an API server adds.
func TestTheLargestStatusIsStored(t *testing.T) {
	t.Parallel()
	release := &addonsv1alpha1.AddonRelease{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "largest", Labels: map[string]string{metav1alpha1.LabelPolicy: "largest"}},
		Spec: addonsv1alpha1.AddonReleaseSpec{
			TargetSpec: metav1alpha1.TargetSpec{
				ClusterRef: metav1alpha1.ClusterReference{Namespace: "default", Name: "nowhere"},
				Revision:   "none",
				Suspend:    true,
			},
		},
	}
	if err := shared.management.Create(t.Context(), release); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := shared.management.Delete(context.Background(), release); err != nil {
			t.Error(err)
		}
	})
	before := release.DeepCopy()
	for i := 0; recordable.SizeOf(release) < recordable.MaxStored-2048; i++ {
		ref := objects.Ref{GroupVersionKind: configMapRef("").GroupVersionKind, Namespace: "default", Name: fmt.Sprintf("%04d-%s", i, strings.Repeat("n", 240))}
		release.Status.Inventory = append(release.Status.Inventory, metav1alpha1.InventoryEntry{ID: ref.ID(), Kept: true, Relinquished: []string{"/" + strings.Repeat("y", 500)}})
	}
	if err := shared.management.Status().Patch(t.Context(), release, client.MergeFrom(before)); err != nil {
		t.Fatalf("%d entries, %d bytes: %v", len(release.Status.Inventory), recordable.SizeOf(release), err)
	}
}
