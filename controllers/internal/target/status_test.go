package target

import (
	"context"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
)

// note is a target of the simplest kind.
type note struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Spec   metav1alpha1.TargetSpec
	Status metav1alpha1.TargetStatus
}

func (n *note) GetTargetSpec() *metav1alpha1.TargetSpec     { return &n.Spec }
func (n *note) GetTargetStatus() *metav1alpha1.TargetStatus { return &n.Status }

// DeepCopyObject implements runtime.Object.
func (n *note) DeepCopyObject() runtime.Object {
	copied := &note{TypeMeta: n.TypeMeta, Spec: *n.Spec.DeepCopy(), Status: *n.Status.DeepCopy()}
	n.DeepCopyInto(&copied.ObjectMeta)
	return copied
}

// notes is their kind, which does nothing.
type notes struct{}

func (notes) Name() string                                   { return "Note" }
func (notes) New() *note                                     { return &note{} }
func (notes) NewList() client.ObjectList                     { return nil }
func (notes) Status(n *note) *metav1alpha1.TargetStatus      { return &n.Status }
func (notes) CopyStatus(to, from *metav1alpha1.TargetStatus) { *to = *from.DeepCopy() }
func (notes) Restore(*fleet.Tracker, *note)                  {}
func (notes) Work(context.Context, *note, *Known[*note, metav1alpha1.TargetStatus, struct{}]) (ctrl.Result, error) {
	return ctrl.Result{}, nil
}

// store holds one note, and takes a status only in place of the version that it has.
type store struct {
	client.Client
	live *note
}

// Status implements client.Client.
func (s *store) Status() client.SubResourceWriter { return statuses{store: s} }

type statuses struct {
	client.SubResourceWriter
	store *store
}

// Get implements client.Client.
func (s *store) Get(_ context.Context, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	*into.(*note) = *clone(s.live)
	return nil
}

// Patch implements client.SubResourceWriter.
func (s statuses) Patch(_ context.Context, object client.Object, _ client.Patch, _ ...client.SubResourcePatchOption) error {
	next := object.(*note)
	live := s.store.live
	if next.ResourceVersion != live.ResourceVersion {
		return apierrors.NewConflict(schema.GroupResource{Resource: "notes"}, next.Name, nil)
	}
	live.Status = *next.Status.DeepCopy()
	live.ResourceVersion += "0"
	*next = *clone(live)
	return nil
}

// A status speaks of the generation that was planned, though people change the target before it is written.
func TestAStatusThatIsWrittenOverAChangedSpecLeavesTheTargetAsItWasPlanned(t *testing.T) {
	planned := &note{ObjectMeta: metav1.ObjectMeta{Name: "n", Generation: 1, ResourceVersion: "1"}}
	changed := clone(planned)
	changed.Generation, changed.ResourceVersion = 2, "2"
	cluster := &store{live: changed}
	room := &Reconciler[*note, metav1alpha1.TargetStatus, struct{}]{Client: cluster, APIReader: cluster, Kind: notes{}}
	known := &Known[*note, metav1alpha1.TargetStatus, struct{}]{}
	writer := room.Writer(planned, known)
	if err := writer.Record(t.Context(), metav1alpha1.TargetStatus{ObservedGeneration: planned.Generation, Revision: "r"}); err != nil {
		t.Fatal(err)
	}
	if stored := writer.Stored(); stored.Generation != 2 || stored.Status.ObservedGeneration != 1 || stored.Status.Revision != "r" {
		t.Errorf("stored at generation %d: %+v", stored.Generation, stored.Status)
	}
	if planned.Generation != 1 || planned.Status.ObservedGeneration != 0 {
		t.Errorf("the rest of the reconcile goes on with generation %d, and status %+v", planned.Generation, planned.Status)
	}
	if latest := known.latest(planned); latest.Generation != 2 || latest.Status.Revision != "r" {
		t.Errorf("the next reconcile begins with generation %d, and status %+v", latest.Generation, latest.Status)
	}
}
