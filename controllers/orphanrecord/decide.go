package orphanrecord

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/helm"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/targets"
)

// outcome of a try to sweep one object.
type outcome string

const (
	// gone: the object is not in the cluster.
	gone outcome = "gone"
	// taken: it is a target's again.
	taken outcome = "taken"
	// left: it stays, for a reason.
	left outcome = "left"
	// removing: it was asked to go, and is still there.
	removing outcome = "removing"
	// failed: nobody knows; another try may do.
	failed outcome = "failed"
	// removable: it may be removed.
	removable outcome = "removable"
)

// result of a try.
type result struct {
	item
	clusterID string
	outcome   outcome
	// why it is still there, for people; empty if there is nothing to say.
	why string
	// sent: its deletion was asked for, now or before.
	sent bool
}

// itemState is what a look at one object showed: nil, without an error, if it is not in the cluster.
type itemState struct {
	object *metav1.PartialObjectMetadata
	err    error
}

// guard is what is known of the targets in a cluster, read from the API server after the objects were looked at.
type guard struct {
	installation string
	// owners are the targets that have an object, by its UID, whatever API version or group it is named by.
	owners map[string]string
	// holders are the targets that have an object, or are about to, by its name.
	holders map[objects.Key]string
	// inUse are the Helm releases of these.
	inUse map[helm.Release]string
	// changed are Helm releases that somebody else has changed since, or made anew.
	changed map[helm.Release]bool
}

func newGuard(installation string, members []targets.Member) guard {
	g := guard{
		installation: installation, owners: map[string]string{}, holders: map[objects.Key]string{},
		inUse: map[helm.Release]string{}, changed: map[helm.Release]bool{},
	}
	for _, member := range members {
		name, has := member.String(), member.Holdings
		for _, entry := range has.Objects {
			g.owners[entry.UID] = name
			if ref, err := objects.ParseID(entry.ID); err == nil { // Otherwise its own controller tells.
				g.holders[ref.Key()] = name
			}
		}
		if has.HelmRecord != nil {
			g.owners[has.HelmRecord.UID] = name
		}
		if has.HelmRelease != nil {
			g.inUse[*has.HelmRelease] = name
		}
	}
	return g
}

// decide decides about one object. It is pure. Only what it calls removable is removed.
func (g guard) decide(one item, seen itemState) (outcome, string) {
	switch {
	case seen.err != nil:
		return failed, one.because(seen.err)
	case seen.object == nil:
		return gone, ""
	}
	object := seen.object
	ours := object.Labels[metav1alpha1.LabelManagedBy] == g.installation || object.Labels[metav1alpha1.LabelAction] != ""
	switch {
	case one.uid != "" && string(object.UID) != one.uid:
		return gone, "" // Another one has its name by now.
	case one.uid == "" && !ours:
		return gone, "" // It never was there.
	}
	if result, why := g.decideByUse(one, object); result != removable {
		return result, why
	}
	switch {
	case object.DeletionTimestamp != nil:
		return removing, whyStillThere(object)
	case one.uid == "":
		return left, "nobody knows its UID: remove it by hand"
	case !ours:
		return left, "it does not carry the label " + metav1alpha1.LabelManagedBy + " of this installation any more"
	case helm.IsKept(object):
		return left, "it is marked helm.sh/resource-policy: keep"
	}
	return g.decideByOwner(one, object)
}

// decideByUse looks for the object among what the targets of today have.
func (g guard) decideByUse(one item, object *metav1.PartialObjectMetadata) (outcome, string) {
	if g.owners[string(object.UID)] != "" {
		return taken, ""
	}
	if one.stage == records && g.inUse[*one.release] != "" {
		return taken, "" // It is of the history that the release goes on with.
	}
	if holder := g.holders[one.Key()]; holder != "" {
		return left, holder + " is about to have it"
	}
	return removable, ""
}

// decideByOwner leaves what somebody else claims, be it with Helm.
func (g guard) decideByOwner(one item, object *metav1.PartialObjectMetadata) (outcome, string) {
	if one.release != nil && g.changed[*one.release] {
		return left, fmt.Sprintf("Helm release %s was changed by somebody else", one.release)
	}
	if one.release != nil && one.release.Owns(object) {
		return removable, ""
	}
	if owner := objects.ClaimOf(object, g.installation).Owner; owner != "" {
		return left, "it belongs to " + owner
	}
	return removable, ""
}

// deleting is all that there is to say of most objects that are on their way.
const deleting = "it is being deleted"

func whyStillThere(object *metav1.PartialObjectMetadata) string {
	if len(object.Finalizers) == 0 {
		return deleting
	}
	return deleting + ", and waits for its finalizers " + strings.Join(object.Finalizers, ", ")
}
