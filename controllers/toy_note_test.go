package controllers

import (
	"context"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/revision"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/targetstate"
	"github.com/daytwo-dev/daytwo/controllers/internal/target"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
)

// NotePolicy and Note are the smallest pair of kinds: a note is one ConfigMap in a cluster. This file is all that such a
// pair has to write.
type (
	// NotePolicy keeps one text in every selected cluster.
	NotePolicy struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata,omitzero"`
		Spec              NotePolicySpec            `json:"spec,omitzero"`
		Status            metav1alpha1.PolicyStatus `json:"status,omitzero"`
	}
	// NotePolicySpec is what the clusters get.
	NotePolicySpec struct {
		metav1alpha1.PolicySpec `json:",inline"`
		Text                    string `json:"text,omitempty"`
	}
	// NotePolicyList is a list of NotePolicies.
	NotePolicyList struct {
		metav1.TypeMeta `json:",inline"`
		metav1.ListMeta `json:"metadata,omitzero"`
		Items           []NotePolicy `json:"items"`
	}
	// Note is that text in one cluster.
	Note struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata,omitzero"`
		Spec              metav1alpha1.TargetSpec `json:"spec,omitzero"`
		Status            NoteStatus              `json:"status,omitzero"`
	}
	// NoteStatus is what became of it.
	NoteStatus struct {
		metav1alpha1.TargetStatus  `json:",inline"`
		metav1alpha1.ObjectsStatus `json:",inline"`
	}
	// NoteList is a list of Notes.
	NoteList struct {
		metav1.TypeMeta `json:",inline"`
		metav1.ListMeta `json:"metadata,omitzero"`
		Items           []Note `json:"items"`
	}
)

func (p *NotePolicy) GetPolicySpec() *metav1alpha1.PolicySpec     { return &p.Spec.PolicySpec }
func (p *NotePolicy) GetPolicyStatus() *metav1alpha1.PolicyStatus { return &p.Status }
func (n *Note) GetTargetSpec() *metav1alpha1.TargetSpec           { return &n.Spec }
func (n *Note) GetTargetStatus() *metav1alpha1.TargetStatus       { return &n.Status.TargetStatus }

func (p *NotePolicy) DeepCopyObject() runtime.Object {
	return &NotePolicy{p.TypeMeta, copyMeta(p.ObjectMeta), NotePolicySpec{*p.Spec.DeepCopy(), p.Spec.Text}, *p.Status.DeepCopy()}
}

func (n *Note) DeepCopyObject() runtime.Object {
	return &Note{n.TypeMeta, copyMeta(n.ObjectMeta), *n.Spec.DeepCopy(), n.Status.deepCopy()}
}

func (s *NoteStatus) deepCopy() NoteStatus {
	return NoteStatus{*s.TargetStatus.DeepCopy(), *s.ObjectsStatus.DeepCopy()}
}

func (l *NotePolicyList) DeepCopyObject() runtime.Object {
	return &NotePolicyList{l.TypeMeta, l.ListMeta, copies(l.Items)}
}
func (l *NoteList) DeepCopyObject() runtime.Object {
	return &NoteList{l.TypeMeta, l.ListMeta, copies(l.Items)}
}

func copyMeta(in metav1.ObjectMeta) metav1.ObjectMeta { return *in.DeepCopy() }

func copies[T any, P interface {
	*T
	runtime.Object
}](items []T) []T {
	copied := make([]T, 0, len(items))
	for i := range items {
		copied = append(copied, *P(&items[i]).DeepCopyObject().(P))
	}
	return copied
}

// notePolicies is the policy.Kind of NotePolicies.
type notePolicies struct{}

func (notePolicies) NewPolicy() *NotePolicy { return &NotePolicy{} }
func (notePolicies) NewTarget() *Note       { return &Note{} }
func (notePolicies) CopyStatus(to, from *NotePolicy) {
	to.Status = from.DeepCopyObject().(*NotePolicy).Status
}
func (notePolicies) CopySpec(to, from *Note)                   { to.Spec = from.DeepCopyObject().(*Note).Spec }
func (notePolicies) References(*NotePolicy) []policy.Reference { return nil }
func (notePolicies) Forget(types.NamespacedName)               {}
func (notePolicies) SyncSettings(*Note, *NotePolicy)           {}
func (notePolicies) SettingsCurrent(*Note, *NotePolicy) bool   { return true }
func (notePolicies) State(note *Note) (rollout.State, string) {
	return targetstate.Reasons{}.State(note)
}
func (notePolicies) Objects(note *Note) []string { return note.Status.ObjectIDs() }
func (notePolicies) Content(_ context.Context, of *NotePolicy, _ time.Time) (policy.Content[*NotePolicy], error) {
	return policy.Content[*NotePolicy]{Read: func(context.Context) ([]byte, *policy.Stall, error) { return []byte(of.Spec.Text), nil, nil }}, nil
}

// notes is the target.DeclaredKind of Notes.
type notes struct {
	revisions    client.Reader
	installation string
}

func (notes) Name() string                         { return "Note" }
func (notes) New() *Note                           { return &Note{} }
func (notes) NewList() client.ObjectList           { return &NoteList{} }
func (notes) Status(note *Note) *NoteStatus        { return &note.Status }
func (notes) CopyStatus(to, from *NoteStatus)      { *to = from.deepCopy() }
func (notes) Drift(*Note) metav1alpha1.DriftPolicy { return metav1alpha1.DriftPolicy{} }
func (notes) Acknowledges() bool                   { return true }
func (notes) Parts(status *NoteStatus) target.Status {
	return target.Status{TargetStatus: &status.TargetStatus, ObjectsStatus: &status.ObjectsStatus}
}

func (k notes) Declare(ctx context.Context, o *target.DeclaredObservation[*Note, NoteStatus, struct{}], _ *fleet.Cluster) ([]apply.Object, error) {
	text, err := revision.Read(ctx, k.revisions, types.NamespacedName{Namespace: o.Target.Namespace, Name: o.Target.Spec.Revision})
	if err != nil {
		return nil, err
	}
	return apply.Prepare(apply.Declare([]*unstructured.Unstructured{{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"namespace": "default", "name": o.Target.Labels[metav1alpha1.LabelPolicy]},
		"data": map[string]any{"text": string(text)},
	}}}), k.installation, "")
}

// Verify refuses what must not be told to anybody.
func (notes) Verify(_ context.Context, _ *Note, list []apply.Object) error {
	for _, one := range list {
		if strings.Contains(string(one.Body), "secret") {
			return &apply.VerificationError{Reason: one.String() + " tells a secret; change spec.text"}
		}
	}
	return nil
}
