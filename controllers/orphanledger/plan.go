package orphanledger

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/daytwo-dev/daytwo/controllers/internal/earliest"
	"github.com/daytwo-dev/daytwo/controllers/internal/helm"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/orphans"
	"github.com/daytwo-dev/daytwo/controllers/internal/teardown"
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
	// unusable are objects that nobody could have applied: somebody wrote them into the ledger.
	unusable []result
	// wakeAt is when something else is due; zero if nothing is.
	wakeAt time.Time
}

// batch is what to sweep in one cluster.
type batch struct {
	site  site
	items []item
}

// item is one object of an entry.
type item struct {
	itemKey
	objects.Ref
	stage stage
	// release is the Helm release of the entry; nil if it has none.
	release *helm.Release
	// noted is what the ledger says of it already.
	noted string
}

// itemKey tells an object of an entry from all others.
type itemKey struct {
	entry string
	id    string
	uid   string
}

// makePlan decides. It is pure.
func makePlan(o observed) plan {
	var p plan
	for _, site := range o.sites {
		if site.hold.why != "" {
			p.wakeAt = earliest.Of(p.wakeAt, site.hold.until)
			continue
		}
		made := batch{site: site}
		for _, entry := range o.content.Entries {
			switch {
			case entry.ClusterID != site.id:
			case o.awaited[entry.Key()]:
				p.wakeAt = earliest.Of(p.wakeAt, o.now.Add(retryLast)) // If nobody comes after all.
			default:
				p.schedule(o, &made, entry)
			}
		}
		if len(made.items) > 0 {
			p.batches = append(p.batches, made)
		}
	}
	return p
}

// schedule puts what is due of an entry into the batch, as far as there is room.
func (p *plan) schedule(o observed, into *batch, entry orphans.Entry) {
	for _, item := range p.currentStage(o, entry) {
		switch due := o.tries.due(item.itemKey); {
		case due.After(o.now):
			p.wakeAt = earliest.Of(p.wakeAt, due)
		case len(into.items) < batchSize:
			into.items = append(into.items, item)
		default:
			p.wakeAt = o.now // The rest follows at once.
		}
	}
}

// currentStage returns the objects of an entry that may go now.
func (p *plan) currentStage(o observed, entry orphans.Entry) []item {
	var byStage [stages][]item
	release := releaseOf(entry)
	for _, object := range entry.Objects {
		if object.Stays {
			continue
		}
		key := itemKey{entry: entry.Key(), id: object.ID, uid: string(object.UID)}
		ref, err := refOf(object)
		if err != nil {
			p.unusable = append(p.unusable, result{item: item{itemKey: key, noted: object.Why}, outcome: left, why: err.Error()})
			continue
		}
		if ref.GroupKind() == objects.ClaimKind {
			continue
		}
		at := stageOf(ref)
		byStage[at] = append(byStage[at], item{itemKey: key, Ref: ref, stage: at, release: release, noted: object.Why})
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
func (i item) isFoundation() bool { return objects.IsFoundation(i.GroupKind()) }

// refOf reads an object's ID. What would lead a request astray is refused, whoever wrote it.
func refOf(object orphans.Object) (objects.Ref, error) {
	ref, err := objects.ParseID(object.ID)
	if err != nil {
		return ref, errors.New("its id is not apiVersion/Kind/namespace/name")
	}
	problems := append(content.IsPathSegmentName(ref.Name), validation.IsDNS1035Label(ref.Version)...)
	if ref.Namespace != "" {
		problems = append(problems, validation.IsDNS1123Label(ref.Namespace)...)
	}
	if ref.Group != "" {
		problems = append(problems, validation.IsDNS1123Subdomain(ref.Group)...)
	}
	if len(problems) > 0 || ref.Name == "" || ref.Kind == "" {
		return ref, fmt.Errorf("its id names nothing that could exist: %s", strings.Join(problems, ", "))
	}
	return ref, nil
}

// releaseOf is the Helm release of which an entry has a record.
func releaseOf(entry orphans.Entry) *helm.Release {
	for _, object := range entry.Objects {
		if ref, err := refOf(object); err == nil {
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
