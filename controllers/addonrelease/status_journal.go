package addonrelease

import (
	"context"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
)

// statusJournal keeps in a release's status what is about to be done, before it is.
type statusJournal struct {
	writer *statusWriter
	// status as it was before, and with every entry since.
	status addonsv1alpha1.AddonReleaseStatus
	// clusterID is the cluster that the entries speak of.
	clusterID string
	// begins is the hash of the inputs that are about to be applied first; empty if none are.
	begins string
	// helm returns what is about to be done to the Helm release, nil if nothing is; nil for manifests.
	helm func() *addonsv1alpha1.HelmRelease
}

// Intend implements apply.Journal.
func (j *statusJournal) Intend(ctx context.Context, intended apply.Inventory) error {
	j.status.Inventory, j.status.ClusterID = intended.Stored(), j.clusterID
	if j.begins != "" {
		j.status.Applying = j.begins
	}
	if j.helm != nil {
		j.status.Helm = j.helm().DeepCopy()
	}
	return j.writer.Record(ctx, j.status)
}

// Store implements helm.Journal: it stores how far Helm's operation has come.
func (j *statusJournal) Store(ctx context.Context, helm *addonsv1alpha1.HelmRelease) error {
	j.status.Helm, j.status.ClusterID = helm.DeepCopy(), j.clusterID
	return j.writer.Record(ctx, j.status)
}

// Confirm implements helm.Journal.
func (j *statusJournal) Confirm(ctx context.Context) error { return j.writer.Confirm(ctx, j.status) }
