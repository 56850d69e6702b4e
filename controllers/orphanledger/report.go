package orphanledger

import (
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/orphans"
)

// Events: types, reasons and actions.
const (
	eventNormal = corev1.EventTypeNormal
	eventSwept  = "OrphansSwept"
	eventWait   = "OrphansWait"
	actionSweep = "Sweep"
)

// revision takes results into the ledger: what is gone leaves its entry, what is not says why.
func revision(results []result) func(orphans.Entry) orphans.Entry {
	byKey := make(map[itemKey]result, len(results))
	for _, one := range results {
		byKey[one.itemKey] = one
	}
	return func(entry orphans.Entry) orphans.Entry {
		kept := make([]orphans.Object, 0, len(entry.Objects))
		for _, object := range entry.Objects {
			one, tried := byKey[itemKey{entry: entry.Key(), id: object.ID, uid: string(object.UID)}]
			switch {
			case !tried:
			case one.outcome == gone || one.outcome == taken:
				continue
			case one.outcome == removing && object.Why == "" && one.why == deleting:
				// It is about to be gone.
			default:
				object.Why = one.why
			}
			kept = append(kept, object)
		}
		entry.Objects = kept
		return entry
	}
}

// swept says what went from a cluster because it was asked to; empty if nothing did.
func swept(results []result, clusterID string) string {
	done := orphans.Entry{}
	for _, one := range results {
		if one.clusterID == clusterID && one.outcome == gone && one.sent {
			done.Objects = append(done.Objects, orphans.Object{ID: one.id})
		}
	}
	if len(done.Objects) == 0 {
		return ""
	}
	return fmt.Sprintf("removed %d objects that were left when the cluster did not answer: %s", len(done.Objects), done)
}

// waits says why what is listed of a cluster is not swept now; empty if nothing keeps it.
func waits(o observed, at site) string {
	why := at.hold.why
	switch {
	case why != "" && !at.hold.until.IsZero():
		why += ", and is looked at again at " + at.hold.until.UTC().Format(time.RFC3339)
	case why == "":
		why = awaits(o, at)
	}
	if why == "" {
		return ""
	}
	return fmt.Sprintf("what the ledger %s lists of this cluster is not swept yet: %s", orphans.Name, why)
}

// awaits names the add-on that the first of the entries waits for.
func awaits(o observed, at site) string {
	for _, entry := range o.content.Entries {
		if entry.ClusterID == at.id && o.awaited[entry.Key()] {
			return fmt.Sprintf("the add-on of %s selects the cluster again, and comes first", entry.Holder)
		}
	}
	return ""
}

// because is what to note of an object after an error: what an API server says, or which group of its API is silent. That a cluster does not answer,
// or is not to be swept just now, is no news of an object. Nothing of an object is in the answer to a deletion.
func (i item) because(err error) string {
	status, undiscovered := apierrors.APIStatus(nil), (*fleet.UndiscoveredError)(nil)
	switch {
	case errors.As(err, &undiscovered):
		return "whether it is empty cannot be told: " + undiscovered.Error()
	case errors.As(err, &status) && status.Status().Message != "":
		return status.Status().Message
	}
	return i.noted
}
