package order

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
)

// victims are ended without a warning, and come back.
var victims = map[string]func(ctx context.Context, namespace string) error{
	"manager": func(ctx context.Context, _ string) error {
		if err := env.Manager.Kill(); err != nil {
			return err
		}
		return env.Manager.Start(ctx)
	},
	"Cluster API": func(ctx context.Context, _ string) error {
		if err := env.Fleet.KillClusterAPI(ctx); err != nil {
			return err
		}
		return env.Fleet.StartClusterAPI(ctx)
	},
	"the cluster's API server": func(ctx context.Context, namespace string) error {
		return env.Fleet.Ordered(namespace, "prod").Kill(ctx)
	},
}

// Whatever dies in the middle of creation, upgrade or deletion, it ends where an undisturbed run ends.
func TestWhoeverIsKilledTheOrderIsCarriedOut(t *testing.T) {
	for name, kill := range victims {
		t.Run(name, func(t *testing.T) {
			c := newCustomer(t)
			c.install("settings")

			c.create(c.order("prod"))
			c.during("creation", kill, func() { c.awaitReady("prod") })
			id := c.get("prod").Status.ClusterID
			before := c.awaitSettings("prod", minor(oldVersion()))

			c.change("prod", func(cluster *tenancyv1alpha1.TenantCluster) { cluster.Spec.Topology.Version = newVersion() })
			c.during("upgrade", kill, func() { c.awaitVersion("prod", newVersion()) })
			after := c.awaitSettings("prod", minor(newVersion()))
			if c.get("prod").Status.ClusterID != id || before.UID != after.UID {
				t.Error("another cluster came out of the upgrade")
			}

			order := c.get("prod")
			must(t, env.Admin.Delete(t.Context(), order))
			c.during("deletion", kill, func() { c.awaitGone(order) })
			c.awaitGone(&clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: "prod"}})
		})
	}
}

// during kills at a random moment while something goes on, and waits until that has come to its end.
func (c *customer) during(what string, kill func(context.Context, string) error, end func()) {
	c.Helper()
	moment := rand.N(4 * time.Second)
	c.Logf("killed %s into the %s", moment.Round(time.Millisecond), what)
	select {
	case <-time.After(moment):
	case <-c.Context().Done():
	}
	if err := kill(c.Context(), c.namespace); err != nil {
		// What is not there yet, or any more, cannot be killed.
		c.Log(fmt.Errorf("not killed: %w", err))
	}
	end()
}
