package tenantcluster

import (
	"context"
	"time"

	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/renewedtoken"
)

// renewTime bounds a try to get a token: a request for it, its trial, some questions on rights, and two writes.
const renewTime = 2 * time.Minute

// startRenewal has a token requested, beside the workers.
func (r *reconciler) startRenewal(o observation) {
	live, ok := r.connections.Get(o.key)
	if !ok || string(live.ID) != o.cluster.Status.ClusterID {
		return // The connection tells when that changes.
	}
	cluster, own := o.cluster.DeepCopy(), o.credentials.own
	r.renewals.Start(r.renewalID(o), o.now.Add(renewTime), func(ctx context.Context) (written, error) {
		token, err := renewedtoken.Request(ctx, live, *accountOf(cluster), own, r.clock)
		if err != nil {
			return written{}, err
		}
		version, err := r.tokens().Keep(ctx, cluster, token, own)
		return written{version, r.clock.Now()}, err
	})
}

// tokens are kept in Secrets that no cache holds.
func (r *reconciler) tokens() renewedtoken.Store {
	return renewedtoken.Store{Client: r.client, Live: r.live}
}
