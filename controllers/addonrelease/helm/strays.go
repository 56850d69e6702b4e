package helm

import (
	"context"

	helmrecord "github.com/daytwo-dev/daytwo/controllers/internal/helm"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
)

// recordedObjects are what the records declare that may have brought objects which no inventory knows: those of others
// that came after our last one, and ours where it is replaced unseen.
func (r *recorder) recordedObjects() ([]objects.Ref, error) {
	entries := r.o.History.Foreign()
	if r.o.replaces() {
		entries = append(entries, r.o.History.Replaced(r.o.Inputs))
	}
	var refs []objects.Ref
	for _, entry := range entries {
		record, err := r.store.Read(entry.Version)
		if err != nil {
			return nil, err
		}
		if record != nil {
			refs = append(refs, helmrecord.Objects(record.Manifest)...)
		}
	}
	return refs, nil
}

// Strays implements apply.Stages: the objects that a record brought, the inventory does not list and the chart does not
// declare. The cluster tells which of them carry the release's marks: others are not touched.
func (s *Stages) Strays(ctx context.Context) ([]apply.Removal, error) {
	if !s.plan.Strays || s.recorder == nil {
		return nil, nil
	}
	refs, err := s.recorder.recordedObjects()
	if err != nil {
		return nil, err
	}
	var found []apply.Removal
	for _, ref := range refs {
		resource, err := s.Cluster.Resource(ctx, ref.GroupVersionKind)
		if err != nil {
			continue // A kind that is not served has no objects.
		}
		if resource.Namespaced && ref.Namespace == "" {
			ref.Namespace = s.o.Chart.Release.Namespace
		}
		if s.lists(ref.Key()) {
			continue
		}
		object, err := s.Cluster.Get(ctx, ref)
		if apply.IgnoreGone(err) != nil {
			return nil, err
		}
		if err == nil && s.Owns(object) && ref.GroupKind() != objects.ClaimKind {
			found = append(found, apply.Removal{Entry: apply.Entry{Ref: ref, UID: object.UID}})
		}
	}
	if len(found) == 0 {
		return nil, nil
	}
	return found, s.Cluster.Confirm(ctx) // They are deleted by the UIDs that were just read.
}
