package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/e2e/bench/faults"
)

// outage is a number of clusters that cannot be reached, which come and go together.
type outage struct {
	b       *bench
	servers []*faults.Server
	// began is when they came; zero while they are not there.
	began time.Time
}

// unreachableAmong returns how many clusters beside the reachable ones are 30 % of all, or enough for every
// fault if that is more.
func unreachableAmong(reachable int) int {
	return max((3*reachable+6)/7, len(faults.All()))
}

// newOutage starts servers with all faults by turns, and registers none of them.
func (b *bench) newOutage(count int) (*outage, error) {
	o := &outage{b: b}
	all := faults.All()
	for i := range count {
		server, err := faults.Start(all[i%len(all)])
		if err != nil {
			return nil, errors.Join(err, o.close())
		}
		o.servers = append(o.servers, server)
	}
	return o, nil
}

func (o *outage) close() error {
	var problems []error
	for _, server := range o.servers {
		problems = append(problems, server.Close())
	}
	return errors.Join(problems...)
}

func (o *outage) tenant(i int) types.NamespacedName {
	return namespaced(fleetNamespace, fmt.Sprintf("unreachable-%d-%s", i, o.servers[i].Fault().Name))
}

// begin registers the clusters and returns when all are said to be unreachable.
func (o *outage) begin(ctx context.Context) error {
	if !o.began.IsZero() {
		return nil
	}
	o.began = time.Now()
	for i, server := range o.servers {
		kubeconfig, err := server.Kubeconfig()
		if err != nil {
			return err
		}
		if err := o.b.env.Import(ctx, o.tenant(i), kubeconfig, nil); err != nil {
			return err
		}
	}
	return o.each(ctx, "said to be unreachable", func(cluster *tenancyv1alpha1.TenantCluster, err error) (bool, error) {
		connected := meta.FindStatusCondition(cluster.Status.Conditions, tenancyv1alpha1.ConditionConnected)
		return err == nil && connected != nil && connected.Reason == tenancyv1alpha1.ReasonUnreachable, err
	})
}

// end removes the clusters and returns when they are gone.
func (o *outage) end(ctx context.Context) error {
	if o.began.IsZero() {
		return nil
	}
	for i := range o.servers {
		if err := o.b.env.Remove(ctx, o.tenant(i)); err != nil {
			return err
		}
	}
	o.began = time.Time{}
	return o.each(ctx, "gone", func(_ *tenancyv1alpha1.TenantCluster, err error) (bool, error) {
		return err != nil && client.IgnoreNotFound(err) == nil, client.IgnoreNotFound(err)
	})
}

// each waits until all clusters are as they should be.
func (o *outage) each(ctx context.Context, what string, is func(*tenancyv1alpha1.TenantCluster, error) (bool, error)) error {
	for i := range o.servers {
		err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
			cluster := &tenancyv1alpha1.TenantCluster{}
			return is(cluster, o.b.env.Admin.Get(ctx, o.tenant(i), cluster))
		})
		if err != nil {
			return fmt.Errorf("wait until TenantCluster %s is %s: %w", o.tenant(i), what, err)
		}
	}
	return nil
}

// attempts returns, for each server that can count them, how often it was tried within a time.
func (o *outage) attempts(ctx context.Context, within time.Duration) (map[string]int, error) {
	made := map[string]int{}
	count := func(sign int) {
		for i, server := range o.servers {
			if attempts, counted := server.Attempts(); counted {
				made[o.tenant(i).Name] += sign * attempts
			}
		}
	}
	count(-1)
	err := pause(ctx, within)
	count(+1)
	return made, err
}
