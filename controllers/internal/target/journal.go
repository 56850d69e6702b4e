package target

import (
	"context"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/statuses"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
)

// Journal keeps in a target's status what is about to be done, before it is. It is an [apply.Journal].
type Journal[T metav1alpha1.Target, S any] struct {
	Writer *statuses.Writer[T, S]
	// Status as it was before, and with every entry since.
	Status S
	// Parts of a status that the room writes.
	Parts func(*S) Status
	// ClusterID is the identity of the cluster that the entries speak of.
	ClusterID string
	// Begins is the hash of the inputs that are about to be applied first; empty if none are.
	Begins string
	// Extend adds what the kind is about to do beside the objects; nil for nothing.
	Extend func(*S)
}

// Intend implements apply.Journal.
func (j *Journal[T, S]) Intend(ctx context.Context, intended apply.Inventory) error {
	parts := j.Parts(&j.Status)
	parts.Inventory, parts.ClusterID = intended.Stored(), j.ClusterID
	if j.Begins != "" {
		parts.Applying = j.Begins
	}
	if j.Extend != nil {
		j.Extend(&j.Status)
	}
	return j.Writer.Record(ctx, j.Status)
}

// Store changes what the status tells of the kind, and stores it.
func (j *Journal[T, S]) Store(ctx context.Context, change func(status *S)) error {
	change(&j.Status)
	j.Parts(&j.Status).ClusterID = j.ClusterID
	return j.Writer.Record(ctx, j.Status)
}

// Confirm makes sure that what was read of the target is the latest.
func (j *Journal[T, S]) Confirm(ctx context.Context) error { return j.Writer.Confirm(ctx, j.Status) }
