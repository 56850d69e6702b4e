package tenantcluster

import (
	"context"

	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/deletion"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/remaining"
)

// blockers are what keeps a cluster that is being deleted.
type blockers struct {
	targets []deletion.Target
	drills  []string
	backups []deletion.Enrollment
}

// observeBlockers reads what keeps a cluster that is being deleted: drills and backups only until add-ons may go.
func (r *reconciler) observeBlockers(ctx context.Context, o *observation) (err error) {
	if !o.deleting() {
		return nil
	}
	left := r.remaining()
	if o.blockers.targets, err = left.Targets(ctx, o.key); err != nil {
		return err
	}
	if !o.cluster.KeepsTargets() {
		return nil
	}
	if o.blockers.drills, err = left.Runs(ctx, o.key); err != nil {
		return err
	}
	if o.cluster.Spec.Deletion.FinalBackup {
		o.blockers.backups, err = left.Enrollments(ctx, o.key)
	}
	return err
}

// remaining reads what is in the clusters.
func (r *reconciler) remaining() remaining.Reader {
	return remaining.Reader{Client: r.client, Kinds: r.targets}
}
