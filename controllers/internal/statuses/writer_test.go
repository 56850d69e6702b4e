package statuses

import (
	"context"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// note is an object with a status.
type note struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Status noteStatus
}

type noteStatus struct {
	ObservedGeneration int64
	Text               string
}

// DeepCopyObject implements runtime.Object.
func (n *note) DeepCopyObject() runtime.Object {
	copied := &note{TypeMeta: n.TypeMeta, Status: n.Status}
	n.DeepCopyInto(&copied.ObjectMeta)
	return copied
}

// notes is their kind.
type notes struct{}

func (notes) Name() string                    { return "Note" }
func (notes) New() *note                      { return &note{} }
func (notes) Status(n *note) *noteStatus      { return &n.Status }
func (notes) CopyStatus(to, from *noteStatus) { *to = *from }

// store holds one note, and takes a status only in place of the version that it has.
type store struct {
	client.Client
	live *note
}

// Status implements client.Client.
func (s *store) Status() client.SubResourceWriter { return subresource{store: s} }

type subresource struct {
	client.SubResourceWriter
	store *store
}

// Get implements client.Client.
func (s *store) Get(_ context.Context, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	*into.(*note) = *clone(s.live)
	return nil
}

// Patch implements client.SubResourceWriter.
func (s subresource) Patch(_ context.Context, object client.Object, _ client.Patch, _ ...client.SubResourcePatchOption) error {
	next := object.(*note)
	live := s.store.live
	if next.ResourceVersion != live.ResourceVersion {
		return apierrors.NewConflict(schema.GroupResource{Resource: "notes"}, next.Name, nil)
	}
	live.Status = next.Status
	live.ResourceVersion += "0"
	*next = *clone(live)
	return nil
}

// A status speaks of the generation that was planned, though people change the object before it is written.
func TestAStatusThatIsWrittenOverAChangedSpecLeavesTheObjectAsItWasPlanned(t *testing.T) {
	planned := &note{ObjectMeta: metav1.ObjectMeta{Name: "n", Generation: 1, ResourceVersion: "1"}}
	changed := clone(planned)
	changed.Generation, changed.ResourceVersion = 2, "2"
	cluster := &store{live: changed}
	latest := &Latest[*note]{}
	writer := NewWriter[*note, noteStatus](cluster, cluster, notes{}, latest, planned)
	if err := writer.Record(t.Context(), noteStatus{ObservedGeneration: planned.Generation, Text: "r"}); err != nil {
		t.Fatal(err)
	}
	if stored := writer.Stored(); stored.Generation != 2 || stored.Status.ObservedGeneration != 1 || stored.Status.Text != "r" {
		t.Errorf("stored at generation %d: %+v", stored.Generation, stored.Status)
	}
	if planned.Generation != 1 || planned.Status.ObservedGeneration != 0 {
		t.Errorf("the rest of the reconcile goes on with generation %d, and status %+v", planned.Generation, planned.Status)
	}
	if next := latest.Of(planned); next.Generation != 2 || next.Status.Text != "r" {
		t.Errorf("the next reconcile begins with generation %d, and status %+v", next.Generation, next.Status)
	}
}
