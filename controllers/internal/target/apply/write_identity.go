package apply

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/managedfields"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

// knownUID is the UID of the object as it was applied last. It is empty if there was no such object, or if the watch
// has seen that one go or another one in its place: then the object may have to be created.
func (w Write) knownUID() types.UID {
	if w.Seen != nil && (w.Seen.Gone || w.Seen.UID != w.Entry.UID) {
		return ""
	}
	return w.Entry.UID
}

// Confirm makes sure of the cluster before writes of which one may create an object. The others name the UID of
// theirs, which no object of another cluster has.
func (w *Writer) Confirm(ctx context.Context, writes []Write) error {
	if !slices.ContainsFunc(writes, func(one Write) bool { return one.knownUID() == "" }) {
		return nil
	}
	return w.Cluster.Confirm(ctx)
}

// identify takes the UID of what was read as that of the object to write to. If it is not the one that was known,
// another object took its place, or another cluster answered.
func (w *Writer) identify(ctx context.Context, done *Written, read *metav1.PartialObjectMetadata) error {
	if done.UID != "" && done.UID != read.UID {
		if err := w.Cluster.Confirm(ctx); err != nil {
			return err
		}
	}
	done.UID = read.UID
	return nil
}

// apply applies an object. If the one that is known is not there any more, it is made anew, once it is certain that
// the cluster is still the same.
func (w *Writer) apply(ctx context.Context, done *Written) (*metav1.PartialObjectMetadata, error) {
	body, err := withoutFields(done.Body, done.relinquished)
	if err != nil {
		return nil, err
	}
	answer, err := w.Cluster.Apply(ctx, done.Ref, done.UID, body, true)
	if done.UID == "" || !fleet.IsAnother(err) {
		return answer, err
	}
	if err := w.Cluster.Confirm(ctx); err != nil {
		return nil, err
	}
	done.UID = ""
	return w.Cluster.Apply(ctx, done.Ref, "", body, true)
}

// claimBefore says from the answer to a first apply who else the object belonged to before. Our own label, which that apply
// has set, does not tell that a label of Helm's was ours too: its other owners do.
func (w *Writer) claimBefore(answer *metav1.PartialObjectMetadata) objects.Claim {
	claim := w.claimOf(answer)
	if claim.Owner != "" || answer.Labels[objects.LabelTool] != objects.ToolHelm || w.Owns(answer) {
		return claim
	}
	foreign := w.Rules.Others(answer.ManagedFields)
	for i := range foreign {
		if fields, err := managedfields.Fields(&foreign[i]); err == nil && managedfields.OwnsPointer(fields, pointerTool) {
			return objects.Claim{Owner: objects.HelmRelease, ByTool: true}
		}
	}
	return objects.Claim{}
}

// pointerTool is the JSON pointer of objects.LabelTool.
var pointerTool = objects.MetadataPointer("labels", objects.LabelTool)
