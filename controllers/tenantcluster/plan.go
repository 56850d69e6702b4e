package tenantcluster

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/customerkubeconfig"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/deletion"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/heldsecret"
)

// newPlan is what should be done about one TenantCluster.
type plan struct {
	// addFinalizer: ours is missing on the TenantCluster.
	addFinalizer bool
	// clusterID to have on record, in status and as a label; empty for none.
	clusterID string
	// holdSecret gets our finalizer.
	holdSecret *metav1.PartialObjectMetadata
	// releaseSecrets lose our finalizer.
	releaseSecrets []metav1.PartialObjectMetadata

	connection connectionChange
	// renew: a token is to be requested.
	renew bool
	// dropToken: the Secret with a token is not needed any longer.
	dropToken bool
	// verdict on the connected cluster.
	verdict verdict
	// admission of the connected cluster.
	admission admissionChange

	// handout is what to do about the customer's copy of the kubeconfig.
	handout customerkubeconfig.Plan

	// order is what to do about the Cluster of spec.topology.
	order orderPlan

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
	// swapCredentials without closing the connection.
	swapCredentials
)

type admissionChange int

const (
	keepAdmission admissionChange = iota
	// admit work; only once the identity is on record.
	admit
	// withdraw stops work.
	withdraw
)

// newPlan decides what to do. It is pure.
func newPlan(o observation) plan {
	if o.cluster == nil {
		return plan{release: true, releaseSecrets: heldsecret.Which(o.held, heldsecret.Secret.UnusedElsewhere)}
	}
	var step deletion.Step
	if o.deleting() {
		step = deletion.Next(leavingOf(o))
	}
	switch {
	case step.Over:
		return planRelease(o, step)
	case step.Record.Step == tenancyv1alpha1.DeletionRemovingCluster:
		return planRemoval(o, step)
	}
	p := plan{
		deletion: step,
		order:    planOrder(o),
		handout:  planHandout(o),

		addFinalizer:   !o.deleting() && !slices.Contains(o.cluster.Finalizers, metav1alpha1.FinalizerCluster),
		holdSecret:     heldsecret.ToHold(o.credentials.secret),
		releaseSecrets: heldsecret.Which(o.held, heldsecret.Secret.Unused),
		connection:     connectionFor(o),
		verdict:        decideIdentity(o),
	}
	p.clusterID = recordFor(o, p.verdict)
	p.admission = admissionFor(o, p.verdict)
	p.renew = o.renewal.renewsNow(o, p.verdict)
	p.dropToken = o.renewal.dropsToken()
	return p
}

// planRelease lets go of everything.
func planRelease(o observation, step deletion.Step) plan {
	return plan{
		deletion:       step,
		clusterID:      o.cluster.Status.ClusterID,
		releaseSecrets: heldsecret.Which(o.held, heldsecret.Secret.UnusedElsewhere),
		handout:        customerkubeconfig.Withdrawing(o.cluster, o.handout.found),
		release:        true,
	}
}

// planRemoval lets Cluster API remove a cluster that nothing needs any longer, and its Secrets with it.
func planRemoval(o observation, step deletion.Step) plan {
	return plan{
		deletion:       step,
		clusterID:      o.cluster.Status.ClusterID,
		releaseSecrets: heldsecret.Which(o.held, heldsecret.Secret.UnusedElsewhere),
		connection:     disconnect,
		handout:        customerkubeconfig.Withdrawing(o.cluster, o.handout.found),
		order:          orderPlan{delete: step.DeleteCluster},
	}
}

func connectionFor(o observation) connectionChange {
	switch {
	case o.credentials.problem != nil:
		return disconnect
	case o.link == nil:
		return connect
	case o.renewal.swap:
		return swapCredentials
	case o.requested:
		return tryNow
	}
	return keepConnection
}

// recordFor is the identity to have on record: the first contact's, and another one only when it was
// accepted. One that lost to a TenantCluster that came first gives its record up.
func recordFor(o observation, verdict verdict) string {
	recorded := o.cluster.Status.ClusterID
	switch {
	case verdict.confirmed():
		return string(verdict.identity)
	case verdict.conflict() && len(o.duplicates) > 0 && recorded == string(verdict.identity):
		return ""
	}
	return recorded
}

func admissionFor(o observation, verdict verdict) admissionChange {
	switch {
	case verdict.conflict():
		return withdraw
	case verdict.confirmed() && o.cluster.Status.ClusterID == string(verdict.identity):
		return admit
	case verdict.confirmed():
		// Another cluster was admitted until now.
		return withdraw
	}
	return keepAdmission
}
