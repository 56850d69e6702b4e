package helm

import (
	"context"

	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
)

// Unlisted implements apply.Stages: the objects that a record brought, the inventory does not list and the chart does not
// declare. The cluster tells which of them carry the release's marks: others are not touched, nor is what another target has by now.
func (s *Stages) Unlisted(ctx context.Context) ([]apply.Removal, error) {
	if !s.plan.Unlisted || s.records == nil {
		return nil, nil
	}
	refs, err := s.brought()
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
		if s.lists(ref.Key()) || s.isOthers(ref) {
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

// brought lists what records brought that no inventory may know: others wrote some after our last one, and ours may be replaced
// unseen.
func (s *Stages) brought() ([]objects.Ref, error) {
	entries := s.records.History.Foreign()
	if s.o.replaces() {
		entries = append(entries, s.records.History.Replaced(s.o.Inputs))
	}
	return s.records.Objects(entries)
}

// isOthers is whether another target has an object.
func (s *Stages) isOthers(ref objects.Ref) bool {
	holder, taken := s.Cluster.Tracker.OwnerOf(ref.Key())
	return taken && holder != s.Owner
}
