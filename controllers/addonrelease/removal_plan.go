package addonrelease

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
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/teardown"
)

// removal is one object to remove.
type removal struct {
	entry
	seen *fleet.Seen
	// deletion is how far it has come.
	deletion deletion
}

// deletion is how far the removal of an object has come. It is in memory only: after a restart the manager looks
// again, and asks again.
type deletion struct {
	uid types.UID
	// sent: the API server took the deletion. Until it is seen, that is a promise.
	sent bool
	// looks is how often the object was looked at, looked when that was last, and next when it is due again.
	looks        int
	looked, next time.Time
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
func (d deletion) again(now time.Time, why string) deletion {
	d.next = now.Add(min(lookFirst<<min(d.looks, 10), lookLast))
	d.looks, d.looked, d.why = d.looks+1, now, why
	return d
}

// planRemovals finds what left the source.
func planRemovals(o objectsObservation) []removal {
	declared := make(map[objects.Key]bool, len(o.desired))
	for _, d := range o.desired {
		declared[d.Key()] = true
	}
	var removals []removal
	for _, e := range o.inventory.sorted() {
		if declared[e.Key()] {
			continue
		}
		one := removal{entry: e, seen: o.sightings[e.Key()].seen}
		if known := o.deletions[e.Key()]; e.intended() || known.uid == e.uid {
			one.deletion = known
		}
		if o.requested {
			one.deletion.next = time.Time{}
		}
		removals = append(removals, one)
	}
	return removals
}

// stage in which the object goes.
func (r removal) stage() teardown.Stage { return teardown.StageOf(r.GroupKind()) }

// isFoundation: what it holds decides whether it may go.
func (r removal) isFoundation() bool { return objects.IsFoundation(r.GroupKind()) }

// move is what to do next to remove an object.
type move string

const (
	// leave it, since it is kept on purpose.
	leave move = "leave"
	// await what a watch or the time brings.
	await move = "await"
	// look at the object in the cluster first.
	look move = "look"
	// ask for its deletion.
	ask move = "ask"
)

// move decides from what is known of the object. It is pure.
func (r removal) move(now time.Time) move {
	switch {
	case r.kept:
		return leave
	case r.isTerminating() && r.seen.Object != nil:
		return await
	case r.deletion.next.After(now) && !r.hasVanished():
		return await
	case r.deletion.sent || r.intended() || r.isFoundation() || r.isGoneFromWatch() || r.isTerminating():
		return look
	}
	return ask
}

// isTerminating: the watch shows that its deletion began.
func (r removal) isTerminating() bool {
	if r.seen == nil || r.seen.Gone || r.seen.UID != r.uid {
		return false
	}
	return r.seen.Health.Status == status.TerminatingStatus || r.seen.Object != nil && r.seen.Object.DeletionTimestamp != nil
}

// isGoneFromWatch: the watch shows it no more, or shows another object of its name. It may only have lost our label.
func (r removal) isGoneFromWatch() bool {
	return r.seen != nil && (r.seen.Gone || r.seen.UID != r.uid)
}

// hasVanished: the watch lost it since it was looked at last.
func (r removal) hasVanished() bool {
	return r.isGoneFromWatch() && r.seen.At.After(r.deletion.looked)
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
func (r removal) examine(object *metav1.PartialObjectMetadata, installation, owner string) finding {
	switch {
	case object == nil:
		return foundGone
	case !r.intended() && object.UID != r.uid:
		return foundGone // Another one has its name by now.
	case r.intended() && (object.Labels[metav1alpha1.LabelManagedBy] != installation || owner != ""):
		return foundGone
	case owner != "" && !r.deletion.sent:
		return foundOfOthers
	case object.DeletionTimestamp != nil:
		return foundTerminating
	}
	return foundPresent
}

// outOfTurn are the removals of later stages that do not wait for their turn: webhook configurations that hold up what
// comes before them, and, in a cluster that goes as a whole, what stands for something outside of it. The latter may
// not be held up by an operator that does not finalize its objects, and no operator needs it.
func outOfTurn(later []removal, unblocks, clusterDeleted bool) []removal {
	return slices.DeleteFunc(later, func(one removal) bool {
		switch one.Group {
		case admissionregistrationv1.GroupName:
			return !unblocks
		case corev1.GroupName, networkingv1.GroupName:
			return !clusterDeleted || !one.external
		}
		return true
	})
}

// mayUnblock is whether webhook configurations that are to be removed anyway go before their turn: the deletion of a
// custom resource waits for a webhook that has not answered for that long.
func mayUnblock(results []removed, now time.Time, patience time.Duration) bool {
	for _, one := range results {
		if since := one.deletion.unansweredSince; one.err != nil && !since.IsZero() && !now.Before(since.Add(patience)) {
			return true
		}
	}
	return false
}
