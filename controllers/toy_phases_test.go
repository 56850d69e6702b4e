package controllers

import (
	"context"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
)

// What a NotePolicy may ask for by annotation, and a cluster by label.
const (
	annotationFirst  = "toys.daytwo.dev/first"  // the cluster that is first
	annotationFrozen = "toys.daytwo.dev/frozen" // nothing new is told
	labelUrgent      = "toys.daytwo.dev/urgent" // what is new is told in spite of that
	labelOwn         = "toys.daytwo.dev/own"    // the revision that the cluster has of its own
	conditionFirst   = "FirstDone"
	reasonFrozen     = "Frozen"
	reasonFirstWaits = "FirstIsNotDone"
)

// phasedNotes are notes with all that a kind may add: gates, a phase, and what differs by cluster.
type phasedNotes struct{ notePolicies }

// The room finds by type what a kind adds. One that lacked a method would lose it unnoticed.
var (
	_ policy.GatedKind[*NotePolicy]         = phasedNotes{}
	_ policy.PairedKind[*NotePolicy, *Note] = phasedNotes{}
	_ policy.PhasedKind[*NotePolicy]        = phasedNotes{}
)

// Gates implements policy.GatedKind.
func (phasedNotes) Gates(note *NotePolicy, _ time.Time) []rollout.Gate {
	if note.Annotations[annotationFrozen] == "" {
		return nil
	}
	return []rollout.Gate{{Reason: reasonFrozen, Message: "frozen", Blocks: rollout.Create | rollout.Update}}
}

// Pair implements policy.PairedKind.
func (phasedNotes) Pair(
	_ context.Context, note *NotePolicy, cluster *tenancyv1alpha1.TenantCluster, _ *Note, _ time.Time,
) (pair policy.Pair, err error) {
	if own := cluster.Labels[labelOwn]; strings.HasPrefix(own, note.Name+"-") {
		pair.Revision = own
	}
	if cluster.Labels[labelUrgent] != "" {
		pair.Overrides = []string{reasonFrozen}
	}
	return pair, nil
}

// Phase implements policy.PhasedKind: one cluster is first, and the others follow when it is ready.
func (phasedNotes) Phase(note *NotePolicy, input rollout.Input) policy.Phase[*NotePolicy] {
	first := note.Annotations[annotationFirst]
	if first == "" || len(input.Clusters) == 0 {
		return policy.Phase[*NotePolicy]{}
	}
	wanted := input.Clusters[0].Revision
	status := metav1.ConditionFalse
	if slices.ContainsFunc(input.Targets, func(one rollout.Target) bool {
		return one.Cluster.Name == first && one.State == rollout.Ready && one.Revision == wanted
	}) {
		status = metav1.ConditionTrue
	}
	return policy.Phase[*NotePolicy]{
		SetStatus: func(note *NotePolicy) {
			meta.SetStatusCondition(&note.Status.Conditions, metav1.Condition{
				Type: conditionFirst, Status: status, Reason: "Phase", Message: wanted, ObservedGeneration: note.Generation,
			})
		},
		GatesIn: func(cluster *rollout.Cluster) []rollout.Gate {
			if status == metav1.ConditionTrue || cluster.Name == first {
				return nil
			}
			return []rollout.Gate{{Reason: reasonFirstWaits, Message: first + " is first", Blocks: rollout.Create | rollout.Update}}
		},
	}
}
