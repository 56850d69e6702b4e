package order

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/customerkubeconfig"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
)

// The whole life of an ordered cluster: from one resource to running add-ons, through an upgrade, to nothing.
func TestAClusterIsOneResourceFromOrderToEnd(t *testing.T) {
	t.Parallel()
	c := newCustomer(t)
	c.install("settings")
	order := c.order("prod")
	order.Spec.Topology.ClassRef.Name = "standard"
	order.Spec.Topology.Workers = []tenancyv1alpha1.TopologyWorkers{{Class: "default", Name: "main", Replicas: ptr.To[int32](2)}}
	c.create(order)

	ready := c.awaitReady("prod")
	for _, condition := range []string{
		tenancyv1alpha1.ConditionProvisioned, tenancyv1alpha1.ConditionControlPlaneReady, tenancyv1alpha1.ConditionWorkersReady,
		tenancyv1alpha1.ConditionConnected, tenancyv1alpha1.ConditionUpgraded,
	} {
		if err := expect.Condition(ready.Status.Conditions, condition, metav1.ConditionTrue, ""); err != nil {
			t.Error(err)
		}
	}
	if ready.Status.Phase != tenancyv1alpha1.PhaseRunning || ready.Status.Version != oldVersion() || ready.Status.OrderedVersion != oldVersion() {
		t.Errorf("phase %s, version %s, ordered %s", ready.Status.Phase, ready.Status.Version, ready.Status.OrderedVersion)
	}
	before := c.awaitSettings("prod", minor(oldVersion()))

	c.change("prod", func(cluster *tenancyv1alpha1.TenantCluster) { cluster.Spec.Topology.Version = newVersion() })
	c.awaitVersion("prod", newVersion())
	after := c.awaitSettings("prod", minor(newVersion()))
	if before.UID != after.UID || c.get("prod").Status.ClusterID != ready.Status.ClusterID {
		t.Error("the upgrade made another cluster of it")
	}

	c.change("prod", func(cluster *tenancyv1alpha1.TenantCluster) {
		cluster.Spec.Topology.Workers[0].Replicas = ptr.To[int32](1)
	})
	expect.Eventually(t, "there is one worker", func(ctx context.Context) error {
		live := c.cluster(ctx, "prod")
		if workers := live.Status.Workers; workers == nil || workers.Replicas == nil || *workers.Replicas != 1 {
			return errors.New("there are more")
		}
		return nil
	})

	must(t, env.Admin.Delete(t.Context(), order))
	c.awaitGone(order)
	c.awaitGone(&clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: c.clusters(), Name: "prod"}})
	c.awaitGone(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: customerkubeconfig.SecretName("prod")}})
	c.awaitGone(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.clusters()}})
}

// awaitNamespace has the namespace for Clusters made, and no Cluster in it.
func (c *customer) awaitNamespace() {
	c.Helper()
	suspended := c.order("suspended")
	suspended.Spec.Suspend = true
	c.create(suspended)
	expect.Eventually(c, "there is a namespace for Clusters", func(ctx context.Context) error {
		return env.Admin.Get(ctx, client.ObjectKey{Name: c.clusters()}, &corev1.Namespace{})
	})
}

func (c *customer) cluster(ctx context.Context, name string) *clusterv1.Cluster {
	c.Helper()
	live := &clusterv1.Cluster{}
	must(c, env.Admin.Get(ctx, client.ObjectKey{Namespace: c.clusters(), Name: name}, live))
	return live
}

func TestAnEditOfTheClusterIsTakenBack(t *testing.T) {
	t.Parallel()
	c := newCustomer(t)
	order := c.order("prod")
	order.Spec.Topology.Metadata.Labels = map[string]string{"cost-centre": "7"}
	c.create(order)
	c.awaitReady("prod")
	c.expectNoWarningOfProvisioning()

	live := c.cluster(t.Context(), "prod")
	before := live.DeepCopy()
	live.Labels["cost-centre"] = "8"
	live.Spec.Topology.ControlPlane.Metadata.Labels = map[string]string{"mine": "yes"}
	// An order cannot say this.
	live.Spec.Topology.ControlPlane.Deletion.NodeDrainTimeoutSeconds = ptr.To[int32](60)
	must(t, env.Admin.Patch(t.Context(), live, client.MergeFrom(before), client.FieldOwner("kubectl-edit")))
	expect.Eventually(t, "the edit is taken back", func(ctx context.Context) error {
		now := c.cluster(ctx, "prod")
		if now.Labels["cost-centre"] != "7" || !equality.Semantic.DeepEqual(now.Spec.Topology, before.Spec.Topology) {
			return fmt.Errorf("it stands: %+v", now.Spec.Topology)
		}
		return nil
	})
	expect.Eventually(t, "it is told who that was", func(ctx context.Context) error {
		events := &eventsv1.EventList{}
		if err := env.Admin.List(ctx, events, inNamespace(c.namespace)); err != nil {
			return err
		}
		var told []string
		for _, event := range events.Items {
			if event.Reason == "DriftCorrected" && strings.Contains(event.Note, "kubectl-edit (Update, ") {
				return nil
			}
			told = append(told, event.Reason+": "+event.Note)
		}
		return fmt.Errorf("none of these Events says so: %q", told)
	})
}

// expectNoWarningOfProvisioning looks for the Events of an order that went well.
func (c *customer) expectNoWarningOfProvisioning() {
	c.Helper()
	expect.Eventually(c, "an Event tells that the cluster is being made", func(ctx context.Context) error {
		events := &eventsv1.EventList{}
		must(c, env.Admin.List(ctx, events, inNamespace(c.namespace)))
		told := 0
		for _, event := range events.Items {
			if event.Reason != tenancyv1alpha1.ReasonProvisioning && event.Reason != tenancyv1alpha1.ReasonNotAvailable {
				continue
			}
			if told++; event.Type != corev1.EventTypeNormal {
				c.Fatalf("%s %s: %s", event.Type, event.Reason, event.Note)
			}
		}
		if told == 0 {
			return fmt.Errorf("none of %d Events says so", len(events.Items))
		}
		return nil
	})
}

func TestVersionsThatCannotFollowAreRefusedAtAdmission(t *testing.T) {
	t.Parallel()
	c := newCustomer(t)
	order := c.order("prod")
	order.Spec.Topology.Version = newVersion()
	c.create(order)
	c.awaitReady("prod")
	for version, says := range map[string]string{oldVersion(): "cannot be downgraded", "v1.99.0": "one minor version at a time"} {
		cluster := c.get("prod")
		before := cluster.DeepCopy()
		cluster.Spec.Topology.Version = version
		err := env.Admin.Patch(t.Context(), cluster, client.MergeFrom(before))
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", version, err)
		}
	}
}

func TestAClusterThatDaytwoDidNotMakeIsNotTakenOver(t *testing.T) {
	t.Parallel()
	c := newCustomer(t)
	theirs := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: c.clusters(), Name: "prod"}}
	theirs.Spec.Topology.ClassRef = clusterv1.ClusterClassRef{Namespace: "daytwo-classes", Name: "small"}
	theirs.Spec.Topology.Version = newVersion()
	c.awaitNamespace()
	c.create(theirs)
	c.create(c.order("prod"))
	c.install("settings")
	c.await("prod", metav1alpha1.ConditionStalled, metav1.ConditionTrue, tenancyv1alpha1.ReasonNameConflict)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: c.clusters(), Name: "prod-kubeconfig"}}
	expect.Eventually(t, "their cluster has a kubeconfig", func(ctx context.Context) error {
		return env.Admin.Get(ctx, client.ObjectKeyFromObject(secret), secret)
	})
	conflicting := c.await("prod", metav1alpha1.ConditionStalled, metav1.ConditionTrue, tenancyv1alpha1.ReasonNameConflict)
	if len(secret.Finalizers) > 0 || conflicting.Status.ClusterID != "" || expect.Condition(conflicting.Status.Conditions, tenancyv1alpha1.ConditionConnected, metav1.ConditionTrue, "") == nil {
		t.Errorf("the cluster is used: Secret %v, %s", secret.Finalizers, expect.Describe(conflicting.Status.Conditions))
	}

	must(t, env.Admin.Delete(t.Context(), c.get("prod")))
	c.awaitGone(&tenancyv1alpha1.TenantCluster{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: "prod"}})
	live := c.cluster(t.Context(), "prod")
	if !live.DeletionTimestamp.IsZero() || live.Spec.Topology.Version != newVersion() || live.Labels[metav1alpha1.LabelManagedBy] != "" {
		t.Errorf("the Cluster was touched: %v", live.ObjectMeta)
	}
}

// What fails is told with the object that says so, however deep below the Cluster it is.
func TestAFailureIsToldWithItsObject(t *testing.T) {
	t.Parallel()
	c := newCustomer(t)
	order := c.order("prod")
	order.Spec.Topology.ClassRef.Name = "standard"
	order.Spec.Topology.Workers = []tenancyv1alpha1.TopologyWorkers{{Class: "default", Name: "main", Replicas: ptr.To[int32](1)}}
	c.create(order)
	c.awaitReady("prod")

	machines := &unstructured.UnstructuredList{}
	machines.SetGroupVersionKind(schema.GroupVersionKind{Group: "infrastructure.local.daytwo.dev", Version: "v1alpha1", Kind: "LocalMachineList"})
	must(t, env.Admin.List(t.Context(), machines, inNamespace(c.clusters())))
	if len(machines.Items) != 1 {
		t.Fatalf("there are %d machines", len(machines.Items))
	}
	machine := &machines.Items[0]
	must(t, env.Admin.Patch(t.Context(), machine, mergePatch(`{"metadata":{"annotations":{"local.daytwo.dev/fail":"no host has room"}}}`)))
	failed := c.await("prod", metav1alpha1.ConditionReady, metav1.ConditionFalse, tenancyv1alpha1.ReasonNotAvailable)
	for _, says := range []string{"Machine " + machine.GetName(), "no host has room"} {
		expect.Eventually(t, "the failure is told", func(context.Context) error {
			if text := expect.Describe(c.get("prod").Status.Conditions); !strings.Contains(text, says) {
				return fmt.Errorf("it is told without %q: %s", says, text)
			}
			return nil
		})
	}
	if failed.Status.Phase != tenancyv1alpha1.PhaseRunning {
		t.Errorf("the phase is %s, though the cluster runs", failed.Status.Phase)
	}
	must(t, env.Admin.Patch(t.Context(), machine, mergePatch(`{"metadata":{"annotations":{"local.daytwo.dev/fail":null}}}`)))
	c.awaitReady("prod")
}
