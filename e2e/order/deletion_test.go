package order

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
)

const balancer = `apiVersion: v1
kind: Service
metadata: {name: web}
spec: {type: LoadBalancer, ports: [{port: 80}], selector: {app: web}}`

// The ConfigMap goes with the cluster: nobody deletes it first. A finalizer that nobody takes away would
// hold an add-on up for ever that were removed object by object.
func TestNothingIsRemovedOneByOneFromAClusterThatGoes(t *testing.T) {
	t.Parallel()
	c := newCustomer(t)
	c.install("settings")
	c.create(c.order("prod"))
	c.awaitReady("prod")
	settings := c.awaitSettings("prod", minor(oldVersion()))
	before := settings.DeepCopy()
	settings.Finalizers = []string{"example.com/for-ever"}
	must(t, c.workload("prod").Patch(t.Context(), settings, client.MergeFrom(before)))

	order := c.get("prod")
	must(t, env.Admin.Delete(t.Context(), order))
	c.awaitGone(order)
	c.awaitGone(&clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: c.clusters(), Name: "prod"}})
	if records := c.orphans(); len(records) > 0 {
		t.Errorf("something is said to remain: %+v", records)
	}
}

// What stands for something outside of the cluster is removed before the cluster is.
func TestWhatIsOutsideOfAClusterIsReleasedBeforeItGoes(t *testing.T) {
	t.Parallel()
	c := newCustomer(t)
	c.install("web", balancer)
	c.create(c.order("prod"))
	c.awaitReady("prod")
	workload := c.workload("prod")
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}
	expect.Eventually(t, "the load balancer is there", func(ctx context.Context) error {
		return workload.Get(ctx, client.ObjectKeyFromObject(service), service)
	})
	before := service.DeepCopy()
	service.Finalizers = append(service.Finalizers, "example.com/cloud")
	must(t, workload.Patch(t.Context(), service, client.MergeFrom(before)))

	order := c.get("prod")
	must(t, env.Admin.Delete(t.Context(), order))
	expect.Eventually(t, "the load balancer is being deleted", func(ctx context.Context) error {
		if err := workload.Get(ctx, client.ObjectKeyFromObject(service), service); err != nil {
			return err
		}
		if !service.DeletionTimestamp.IsZero() {
			return nil
		}
		release, err := c.release(ctx)
		if err != nil {
			return err
		}
		return errors.New(expect.Describe(release.Status.Conditions))
	})
	if live := c.cluster(t.Context(), "prod"); !live.DeletionTimestamp.IsZero() {
		t.Error("the cluster goes before its load balancer does")
	}
	before = service.DeepCopy()
	service.Finalizers = nil
	must(t, workload.Patch(t.Context(), service, client.MergeFrom(before)))
	c.awaitGone(order)
	if records := c.orphans(); len(records) > 0 {
		t.Errorf("something is said to remain: %+v", records)
	}
}

// Nobody answers: neither the cluster, to release what is outside of it, nor the provider, to remove it.
func TestADeadControlPlaneDoesNotHoldADeletionUp(t *testing.T) {
	c := newCustomer(t)
	c.install("web", balancer)
	order := c.order("prod")
	order.Spec.Deletion.Timeout = &metav1.Duration{Duration: 15 * time.Second}
	c.create(order)
	c.awaitReady("prod")
	c.awaitSettings("prod", minor(oldVersion()))

	must(t, env.Fleet.KillProvider(t.Context()))
	c.await("prod", tenancyv1alpha1.ConditionConnected, metav1.ConditionFalse, "")
	must(t, env.Admin.Delete(t.Context(), c.get("prod")))
	c.awaitGone(order)

	text := fmt.Sprintf("%+v", c.orphans())
	for _, remaining := range []string{"v1/Service/default/web", "Cluster/" + c.clusters() + "/prod"} {
		if !strings.Contains(text, remaining) {
			t.Errorf("no record tells of %s: %s", remaining, text)
		}
	}
	expect.Eventually(t, "an Event tells what may remain", func(ctx context.Context) error {
		events := &corev1.EventList{}
		if err := env.Admin.List(ctx, events, inNamespace(c.namespace)); err != nil {
			return err
		}
		for _, event := range events.Items {
			if event.Reason == "Orphaned" && strings.Contains(event.Message, "v1/Service/default/web") {
				return nil
			}
		}
		return fmt.Errorf("none of %d does", len(events.Items))
	})
	must(t, env.Fleet.StartClusterAPI(t.Context()))
	c.awaitGone(&clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: c.clusters(), Name: "prod"}})
}

func (c *customer) orphans() []tenancyv1alpha1.OrphanRecord {
	c.Helper()
	records := &tenancyv1alpha1.OrphanRecordList{}
	must(c, env.Admin.List(c.Context(), records, inNamespace(c.namespace)))
	return records.Items
}

func TestDeletionProtectionHoldsAnOrderedCluster(t *testing.T) {
	t.Parallel()
	c := newCustomer(t)
	order := c.order("prod")
	order.Spec.DeletionProtection = true
	c.create(order)
	c.awaitReady("prod")
	if err := env.Admin.Delete(t.Context(), c.get("prod")); err == nil || !strings.Contains(err.Error(), "protected from deletion") {
		t.Errorf("it is deleted: %v", err)
	}
	c.change("prod", func(cluster *tenancyv1alpha1.TenantCluster) { cluster.Spec.DeletionProtection = false })
	c.await("prod", metav1alpha1.ConditionReady, metav1.ConditionTrue, "")
}
