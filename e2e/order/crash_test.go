package order

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
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
		server := env.Fleet.Ordered(namespace, "prod")
		return wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, expect.Patience, true, func(ctx context.Context) (bool, error) {
			// During an upgrade and a deletion there is a moment without one.
			return server.PID() != 0 && server.Kill(ctx) == nil || isGoing(ctx, namespace), nil
		})
	},
}

// Whatever dies in the middle of creation, upgrade or deletion, it ends where an undisturbed run ends.
func TestWhoeverIsKilledTheOrderIsCarriedOut(t *testing.T) {
	for name, kill := range victims {
		t.Run(name, func(t *testing.T) {
			c := newCustomer(t)
			c.install("settings")

			c.create(c.order("prod"))
			c.during("creation", kill, func(ctx context.Context) error {
				return env.Admin.Get(ctx, client.ObjectKey{Namespace: c.clusters(), Name: "prod"}, &clusterv1.Cluster{})
			})
			c.awaitReady("prod")
			id := c.get("prod").Status.ClusterID
			before := c.awaitSettings("prod", minor(oldVersion()))

			c.change("prod", func(cluster *tenancyv1alpha1.TenantCluster) { cluster.Spec.Topology.Version = newVersion() })
			c.during("upgrade", kill, func(context.Context) error {
				// What is on record goes when the upgrade is over, which may be between two looks.
				if status := c.get("prod").Status; status.Upgrade == nil && status.OrderedVersion != newVersion() {
					return errors.New("it is not on record")
				}
				return nil
			})
			c.awaitVersion("prod", newVersion())
			after := c.awaitSettings("prod", minor(newVersion()))
			if c.get("prod").Status.ClusterID != id || before.UID != after.UID {
				t.Error("another cluster came out of the upgrade")
			}

			order := c.get("prod")
			must(t, env.Admin.Delete(t.Context(), order))
			c.during("deletion", kill, func(context.Context) error { return nil })
			c.awaitGone(order)
			c.awaitGone(&clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: c.clusters(), Name: "prod"}})
		})
	}
}

// during kills at a random moment after something was begun, and before it can have ended.
func (c *customer) during(what string, kill func(context.Context, string) error, begun func(context.Context) error) {
	c.Helper()
	expect.Eventually(c, "the "+what+" is begun", begun)
	moment := rand.N(time.Second)
	select {
	case <-time.After(moment):
	case <-c.Context().Done():
	}
	must(c, kill(c.Context(), c.clusters()))
	c.Logf("killed %s into the %s", moment.Round(time.Millisecond), what)
}

// isGoing tells that there is nothing left to kill.
func isGoing(ctx context.Context, namespace string) bool {
	cluster := &clusterv1.Cluster{}
	err := env.Admin.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "prod"}, cluster)
	return err != nil || !cluster.DeletionTimestamp.IsZero()
}
