package apply

import (
	"slices"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/tracker"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/teardown"
)

// Removal is one object to remove.
type Removal struct {
	Entry
	seen *tracker.Seen
	// Deletion is how far it has come.
	Deletion Deletion
}

// Deletion is how far the removal of an object has come. It is in memory only: after a restart the manager looks
// again, and asks again.
type Deletion struct {
	UID types.UID
	// Sent: the API server took the deletion. Until it is seen, that is a promise.
	Sent bool
	// looks is how often the object was looked at, looked when that was last, and next when it is due again.
	looks        int
	looked, Next time.Time
	// why the object is still there, as it was found last; empty if there is nothing to say.
	why string
	// unansweredSince is when a deletion was refused first because an admission webhook does not answer; zero if the
	// last one was not.
	unansweredSince time.Time
}

const (
	// A deletion of which no watch shows anything is looked after 2 s later, then 4 s, up to a minute.
	lookFirst = 2 * time.Second
	lookLast  = time.Minute
)

// again plans the next look.
func (d Deletion) again(now time.Time, why string) Deletion {
	d.Next = now.Add(min(lookFirst<<min(d.looks, 10), lookLast))
	d.looks, d.looked, d.why = d.looks+1, now, why
	return d
}

// PlanRemovals finds what left the source.
func PlanRemovals(o Observation) []Removal {
	declared := make(map[objects.Key]bool, len(o.Desired))
	for _, d := range o.Desired {
		declared[d.Key()] = true
	}
	var removals []Removal
	for _, e := range o.Inventory.Sorted() {
		if declared[e.Key()] {
			continue
		}
		one := Removal{Entry: e, seen: o.States[e.Key()].Seen}
		if known := o.Deletions[e.Key()]; e.Intended() || known.UID == e.UID {
			one.Deletion = known
		}
		if o.Requested {
			one.Deletion.Next = time.Time{}
		}
		removals = append(removals, one)
	}
	return removals
}

// stage in which the object goes.
func (r Removal) stage() teardown.Stage { return teardown.StageOf(r.GroupKind()) }

// isPrerequisite: what it holds decides whether it may go.
func (r Removal) isPrerequisite() bool { return objects.IsPrerequisite(r.GroupKind()) }

// next is what to do next to remove an object.
type step string

const (
	// leave it, since it is kept on purpose.
	leave step = "leave"
	// await what a watch or the time brings.
	await step = "await"
	// look at the object in the cluster first.
	look step = "look"
	// ask for its deletion.
	ask step = "ask"
)

// next decides from what is known of the object. It is pure.
func (r Removal) next(now time.Time) step {
	switch {
	case r.Kept:
		return leave
	case r.isTerminating() && r.seen.Object != nil:
		return await
	case r.Deletion.Next.After(now) && !r.hasVanished():
		return await
	case r.Deletion.Sent || r.Intended() || r.isPrerequisite() || r.isGoneFromWatch() || r.isTerminating():
		return look
	}
	return ask
}

// isTerminating: the watch shows that its deletion began.
func (r Removal) isTerminating() bool {
	if r.seen == nil || r.seen.Gone || r.seen.UID != r.UID {
		return false
	}
	return r.seen.Health.Status == status.TerminatingStatus || r.seen.Object != nil && r.seen.Object.DeletionTimestamp != nil
}

// isGoneFromWatch: the watch shows it no more, or shows another object of its name. It may only have lost our label.
func (r Removal) isGoneFromWatch() bool {
	return r.seen != nil && (r.seen.Gone || r.seen.UID != r.UID)
}

// hasVanished: the watch lost it since it was looked at last.
func (r Removal) hasVanished() bool {
	return r.isGoneFromWatch() && r.seen.At.After(r.Deletion.looked)
}

// finding is what a look at an object means for its removal.
type finding string

const (
	foundGone        finding = "gone"
	foundTerminating finding = "terminating"
	foundOfOthers    finding = "of others"
	foundPresent     finding = "present"
)

// examine compares what is in the cluster, nil for nothing, with what is to be removed. It is pure. What was only
// intended and does not carry our label was never made: the object there is somebody else's.
func (r Removal) examine(object *metav1.PartialObjectMetadata, installation, owner string) finding {
	switch {
	case object == nil:
		return foundGone
	case !r.Intended() && object.UID != r.UID:
		return foundGone // Another one has its name by now.
	case r.Intended() && (object.Labels[metav1alpha1.LabelManagedBy] != installation || owner != ""):
		return foundGone
	case owner != "" && !r.Deletion.Sent:
		return foundOfOthers
	case object.DeletionTimestamp != nil:
		return foundTerminating
	}
	return foundPresent
}

// outOfTurn are the removals of later stages that do not wait for their turn: webhook configurations that hold up what
// comes before them, and, in a cluster that goes as a whole, what stands for something outside of it. The latter may
// not be held up by an operator that does not finalize its objects, and no operator needs it.
func outOfTurn(later []Removal, unblocks, clusterDeleted bool) []Removal {
	return slices.DeleteFunc(later, func(one Removal) bool {
		switch one.Group {
		case admissionregistrationv1.GroupName:
			return !unblocks
		case corev1.GroupName, networkingv1.GroupName:
			return !clusterDeleted || !one.External
		}
		return true
	})
}

// mayUnblock is whether webhook configurations that are to be removed anyway go before their turn: the deletion of a
// custom resource waits for a webhook that has not answered for that long.
func mayUnblock(results []Removed, now time.Time, patience time.Duration) bool {
	for _, one := range results {
		if since := one.Deletion.unansweredSince; one.err != nil && !since.IsZero() && !now.Before(since.Add(patience)) {
			return true
		}
	}
	return false
}
