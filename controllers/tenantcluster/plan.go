package tenantcluster

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/deletion"
)

// decision is what should be done about one TenantCluster.
type decision struct {
	// addFinalizer: ours is missing on the TenantCluster.
	addFinalizer bool
	// clusterID to have on record, in status and as a label; empty for none.
	clusterID string
	// holdSecret gets our finalizer.
	holdSecret *metav1.PartialObjectMetadata
	// releaseSecrets lose our finalizer.
	releaseSecrets []metav1.PartialObjectMetadata

	connection connectionChange
	// verdict on the connected cluster.
	verdict verdict
	// admission of the connected cluster.
	admission admissionChange

	// order is what to do about the Cluster of spec.topology.
	order orderDecision

	// deletion is the step that it is at; the zero value unless the TenantCluster is being deleted.
	deletion deletion.Step
	// release the TenantCluster: nothing needs it any longer.
	release bool
}

type connectionChange int

const (
	keepConnection connectionChange = iota
	connect
	disconnect
	// tryNow because a person asked for it.
	tryNow
)

type admissionChange int

const (
	keepAdmission admissionChange = iota
	// admit work; only once the identity is on record.
	admit
	// withdraw stops work.
	withdraw
)

// plan decides what to do. It is pure.
func plan(seen observed) decision {
	if seen.cluster == nil {
		return decision{release: true, releaseSecrets: withoutUser(seen.held, heldSecret.unusedElsewhere)}
	}
	var step deletion.Step
	if seen.deleting() {
		step = deletion.Next(leavingOf(seen))
	}
	switch {
	case step.Over:
		return planRelease(seen, step)
	case step.Record.Step == tenancyv1alpha1.DeletionRemovingCluster:
		return planRemoval(seen, step)
	}
	todo := decision{
		deletion: step,
		order:    planOrder(seen),

		addFinalizer:   !seen.deleting() && !slices.Contains(seen.cluster.Finalizers, metav1alpha1.FinalizerCluster),
		holdSecret:     secretToHold(seen.credentials.secret),
		releaseSecrets: withoutUser(seen.held, heldSecret.unused),
		connection:     connectionFor(seen),
		verdict:        judge(seen),
	}
	todo.clusterID = recordFor(seen, todo.verdict)
	todo.admission = admissionFor(seen, todo.verdict)
	return todo
}

// planRelease lets go of everything.
func planRelease(seen observed, step deletion.Step) decision {
	return decision{
		deletion:       step,
		clusterID:      seen.cluster.Status.ClusterID,
		releaseSecrets: withoutUser(seen.held, heldSecret.unusedElsewhere),
		release:        true,
	}
}

// planRemoval lets Cluster API remove a cluster that nothing needs any longer, and its Secrets with it.
func planRemoval(seen observed, step deletion.Step) decision {
	return decision{
		deletion:       step,
		clusterID:      seen.cluster.Status.ClusterID,
		releaseSecrets: withoutUser(seen.held, heldSecret.unusedElsewhere),
		connection:     disconnect,
		order:          orderDecision{delete: step.DeleteCluster},
	}
}

func withoutUser(held []heldSecret, unneeded func(heldSecret) bool) []metav1.PartialObjectMetadata {
	var found []metav1.PartialObjectMetadata
	for _, secret := range held {
		if unneeded(secret) {
			found = append(found, secret.metadata)
		}
	}
	return found
}

// unusedElsewhere is what counts when the TenantCluster leaves.
func (s heldSecret) unusedElsewhere() bool { return !s.usedElsewhere }

func (s heldSecret) unused() bool { return !s.usedHere && !s.usedElsewhere }

// secretToHold leaves a Secret alone that is being deleted: the API server takes no new finalizer then.
func secretToHold(secret *metav1.PartialObjectMetadata) *metav1.PartialObjectMetadata {
	if secret == nil || secret.DeletionTimestamp != nil || slices.Contains(secret.Finalizers, metav1alpha1.FinalizerAccess) {
		return nil
	}
	return secret
}

func connectionFor(seen observed) connectionChange {
	switch {
	case seen.credentials.problem != nil:
		return disconnect
	case seen.link == nil:
		return connect
	case seen.requested:
		return tryNow
	}
	return keepConnection
}

// recordFor is the identity to have on record: the first contact's, and another one only when it was
// accepted. One that lost to a TenantCluster that came first gives its record up.
func recordFor(seen observed, verdict verdict) string {
	recorded := seen.cluster.Status.ClusterID
	switch {
	case verdict.confirmed():
		return string(verdict.identity)
	case verdict.conflict() && len(seen.rivals) > 0 && recorded == string(verdict.identity):
		return ""
	}
	return recorded
}

func admissionFor(seen observed, verdict verdict) admissionChange {
	switch {
	case verdict.conflict():
		return withdraw
	case verdict.confirmed() && seen.cluster.Status.ClusterID == string(verdict.identity):
		return admit
	case verdict.confirmed():
		// Another cluster was admitted until now.
		return withdraw
	}
	return keepAdmission
}
