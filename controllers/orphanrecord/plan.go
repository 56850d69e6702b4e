package orphanrecord

import (
	"time"

	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/helm"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/teardown"
	"github.com/daytwo-dev/daytwo/controllers/internal/times"
)

// batchSize is how many objects of one cluster are swept in one reconcile, each with two or three requests: some
// seconds' work.
const batchSize = 100

// stage orders what goes: everything of one is gone, or will not go, before the next. Stages are those of package
// teardown, with the records of Helm releases before definitions and namespaces.
type stage int

const (
	// records of Helm releases tell that their objects are ours to remove.
	records = stage(teardown.Definitions)
	stages  = stage(teardown.Namespaces) + 2
)

// plan is what to sweep now. The zero plan is to do nothing.
type plan struct {
	// batches are at most one a cluster.
	batches []batch
	// unusable are objects whose ID names none.
	unusable []result
	// wakeAt is when something else is due; zero if nothing is.
	wakeAt time.Time
}

// batch is what to sweep in one cluster.
type batch struct {
	site  site
	items []item
}

// item is one object of a record.
type item struct {
	itemKey
	objects.Ref
	stage stage
	// release is the Helm release of the record; nil if it has none.
	release *helm.Release
	// noted is what the record says of it already.
	noted string
}

// itemKey tells an object of a record from all others of the namespace.
type itemKey struct {
	record string
	id     string
	uid    string
}

func keyOf(record *tenancyv1alpha1.OrphanRecord, object tenancyv1alpha1.OrphanObject) itemKey {
	return itemKey{record: record.Name, id: object.ID, uid: object.UID}
}

// newPlan decides. It is pure.
func newPlan(o observation) plan {
	var p plan
	for _, site := range o.sites {
		if site.hold.why != "" {
			p.wakeAt = times.Earliest(p.wakeAt, site.hold.until)
			continue
		}
		made := batch{site: site}
		for i := range o.records {
			switch record := &o.records[i]; {
			case record.Spec.ClusterID != site.id:
			case o.awaited[record.Name]:
				p.wakeAt = times.Earliest(p.wakeAt, o.now.Add(retryLast)) // If the add-on does not come after all.
			default:
				p.schedule(o, &made, record)
			}
		}
		if len(made.items) > 0 {
			p.batches = append(p.batches, made)
		}
	}
	return p
}

// schedule puts what is due of a record into the batch, as far as there is room.
func (p *plan) schedule(o observation, into *batch, record *tenancyv1alpha1.OrphanRecord) {
	for _, item := range p.currentStage(o, record) {
		switch due := o.tries.due(item.itemKey); {
		case due.After(o.now):
			p.wakeAt = times.Earliest(p.wakeAt, due)
		case len(into.items) < batchSize:
			into.items = append(into.items, item)
		default:
			p.wakeAt = o.now // The rest follows at once.
		}
	}
}

// currentStage returns the objects of a record that may go now.
func (p *plan) currentStage(o observation, record *tenancyv1alpha1.OrphanRecord) []item {
	var byStage [stages][]item
	release := releaseOf(record)
	for _, object := range record.Spec.Objects {
		if !isSweepable(object) {
			continue
		}
		key := keyOf(record, object)
		ref, err := objects.ParseID(object.ID)
		if err != nil {
			p.unusable = append(p.unusable, result{item: item{itemKey: key, noted: object.Message}, outcome: left, why: "its id is not apiVersion/Kind/namespace/name"})
			continue
		}
		at := stageOf(ref)
		byStage[at] = append(byStage[at], item{itemKey: key, Ref: ref, stage: at, release: release, noted: object.Message})
	}
	var current []item
	for _, items := range byStage {
		current = append(current, items...)
		for _, one := range items {
			if !o.tries.isLeft(one.itemKey) {
				return current
			}
		}
	}
	return current
}

func stageOf(ref objects.Ref) stage {
	at := stage(teardown.StageOf(ref.GroupKind()))
	switch {
	case recordedBy(ref) != nil:
		return records
	case at >= records:
		return at + 1
	}
	return at
}

// isFoundation: what it holds decides whether it may go.
func (i item) isFoundation() bool { return objects.IsPrerequisite(i.GroupKind()) }

// releaseOf is the Helm release that a record has a revision of.
func releaseOf(record *tenancyv1alpha1.OrphanRecord) *helm.Release {
	for _, object := range record.Spec.Objects {
		if ref, err := objects.ParseID(object.ID); err == nil {
			if release := recordedBy(ref); release != nil {
				return release
			}
		}
	}
	return nil
}

// recordedBy is the release that a Secret keeps a record of; nil if it is none.
func recordedBy(ref objects.Ref) *helm.Release {
	if ref.Group != "" || ref.Kind != "Secret" {
		return nil
	}
	return helm.ReleaseOfRecord(ref.Namespace, ref.Name)
}
