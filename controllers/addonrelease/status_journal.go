package addonrelease

import (
	"context"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/target"
)

// statusJournal keeps in a release's status what is about to be done, before it is.
type statusJournal struct {
	target.Journal[*addonsv1alpha1.AddonRelease, addonsv1alpha1.AddonReleaseStatus]
}

// addHelm records with everything that is about to be done also what is about to be done to the Helm release.
func (j *statusJournal) addHelm(intended func() *addonsv1alpha1.HelmRelease) {
	j.Extend = func(status *addonsv1alpha1.AddonReleaseStatus) { status.Helm = intended().DeepCopy() }
}

// Store implements helm.Journal: it stores how far Helm's operation has come.
func (j *statusJournal) Store(ctx context.Context, helm *addonsv1alpha1.HelmRelease) error {
	j.Status.Helm, j.Status.ClusterID = helm.DeepCopy(), j.ClusterID
	return j.Writer.Record(ctx, j.Status)
}

// Confirm implements helm.Journal.
func (j *statusJournal) Confirm(ctx context.Context) error { return j.Writer.Confirm(ctx, j.Status) }
