package orphanrecord

import (
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/conditions"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/resources"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/orphans"
	"github.com/daytwo-dev/daytwo/controllers/internal/plural"
)

// Events: types, reasons and actions.
const (
	eventNormal = corev1.EventTypeNormal
	eventSwept  = "OrphansSwept"
	actionSweep = "Sweep"
)

// update is what one reconcile makes of a record.
type update struct {
	results         map[itemKey]result
	now             time.Time
	reason, message string
}

// updateOf takes the results of a reconcile in, and says how far the sweep of a record is.
func updateOf(o observation, record *tenancyv1alpha1.OrphanRecord, results []result) update {
	made := update{results: map[itemKey]result{}, now: o.now}
	for _, one := range results {
		if one.record == record.Name {
			made.results[one.itemKey] = one
		}
	}
	made.reason, made.message = progress(o, record)
	return made
}

// changes is whether the record would not be as it is.
func (u update) changes(record *tenancyv1alpha1.OrphanRecord) bool {
	changed := record.DeepCopy()
	u.take(changed)
	return !equality.Semantic.DeepEqual(record, changed)
}

// take changes a record: what is gone leaves it, what is not says why.
func (u update) take(record *tenancyv1alpha1.OrphanRecord) {
	kept := make([]tenancyv1alpha1.OrphanObject, 0, len(record.Spec.Objects))
	for _, object := range record.Spec.Objects {
		one, tried := u.results[keyOf(record, object)]
		switch {
		case !tried:
		case one.outcome == gone || one.outcome == taken:
			continue
		case one.outcome == removing && object.Message == "" && one.why == deleting:
			// It is about to be gone.
		default:
			object.Message = one.why
		}
		kept = append(kept, object)
	}
	record.Spec.Objects = kept
	conditions.List{Conditions: &record.Status.Conditions, Now: u.now}.
		Set(tenancyv1alpha1.ConditionSwept, metav1.ConditionFalse, u.reason, u.message)
}

// progress says what a sweep does about a record, or waits for.
func progress(o observation, record *tenancyv1alpha1.OrphanRecord) (reason, message string) {
	const see = ": deal with what spec.objects lists, then delete this record"
	if !slices.ContainsFunc(record.Spec.Objects, isSweepable) {
		return tenancyv1alpha1.ReasonSweepObjectsKept, "Daytwo removes nothing of it: deal with it, then delete this record"
	}
	at := o.siteOf(record)
	if at == nil {
		return tenancyv1alpha1.ReasonSweepClusterMissing, "no connected TenantCluster of this namespace has the identity spec.clusterID: register the cluster again, or" + see[1:]
	}
	name := "TenantCluster " + at.key().String()
	switch {
	case at.hold.why != "" && !at.hold.until.IsZero():
		return tenancyv1alpha1.ReasonSweepWaiting, fmt.Sprintf("%s: %s, and is looked at again at %s", name, at.hold.why, at.hold.until.UTC().Format(time.RFC3339))
	case at.hold.why != "":
		return tenancyv1alpha1.ReasonSweepWaiting, name + ": " + at.hold.why
	case o.awaited[record.Name]:
		return tenancyv1alpha1.ReasonSweepWaiting, fmt.Sprintf("its policy %s/%s selects %s, and comes first", record.Spec.Owner.Namespace, record.Spec.Owner.Policy, name)
	case o.tries.allLeft(record):
		return tenancyv1alpha1.ReasonSweepObjectsKept, "the objects that are left in " + name + " are not removed, each for the reason in its message" + see
	}
	return tenancyv1alpha1.ReasonSweepInProgress, "objects are being removed from " + name
}

// isSweepable is whether a sweep may remove an object, if the cluster agrees.
func isSweepable(object tenancyv1alpha1.OrphanObject) bool {
	ref, err := objects.ParseID(object.ID)
	return !object.Keep && (err != nil || ref.GroupKind() != objects.ClaimKind)
}

// siteOf is the connected cluster that a record is about; nil if there is none.
func (o observation) siteOf(record *tenancyv1alpha1.OrphanRecord) *site {
	for i := range o.sites {
		if o.sites[i].id == record.Spec.ClusterID {
			return &o.sites[i]
		}
	}
	return nil
}

// swept says what went from a cluster because it was asked to; empty if nothing did.
func swept(results []result, clusterID string) string {
	var done tenancyv1alpha1.OrphanRecordSpec
	for _, one := range results {
		if one.clusterID == clusterID && one.outcome == gone && one.sent {
			done.Objects = append(done.Objects, tenancyv1alpha1.OrphanObject{ID: one.id})
		}
	}
	if len(done.Objects) == 0 {
		return ""
	}
	return fmt.Sprintf("removed %s left when the cluster did not answer: %s", plural.Of(len(done.Objects), "object|that was|that were"), orphans.Describe(done))
}

// because is what to note of an object after an error: what an API server says, or which group of its API is silent. That a cluster does not answer,
// or is not to be swept just now, is no news of an object. Nothing of an object is in the answer to a deletion.
func (i item) because(err error) string {
	status, undiscovered := apierrors.APIStatus(nil), (*resources.UndiscoveredError)(nil)
	switch {
	case errors.As(err, &undiscovered):
		return "whether it is empty cannot be told: " + undiscovered.Error()
	case errors.As(err, &status) && status.Status().Message != "":
		return status.Status().Message
	}
	return i.noted
}
