package main

import (
	"context"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/topology"
	"github.com/daytwo-dev/daytwo/tools/local/localfleet"
)

// What a fourth customer orders.
const (
	orderingNamespace = "customer-umbrella"
	// clusterNamespace is where Daytwo makes the Clusters that are ordered there.
	clusterNamespace = orderingNamespace + topology.DefaultClusterNamespaceSuffix
	orderedName      = "staging"
	orderedClass     = "standard"
	welcomeName      = "welcome"
)

// orderCluster shows that a cluster is one resource. It starts beside the next acts.
func (s *story) orderCluster(ctx context.Context) error {
	version := s.env.Fleet.KubernetesVersions()[0]
	if err := s.awaitVersions(ctx, version); err != nil {
		return err
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: orderingNamespace}}
	for _, object := range []client.Object{namespace, newWelcome()} {
		if err := s.env.Admin.Create(ctx, object); err != nil {
			return fmt.Errorf("create %s: %w", object.GetName(), err)
		}
	}
	if err := s.screen.Do("ordering a cluster of Kubernetes "+version, func() (done, error) {
		if err := s.env.Admin.Create(ctx, newOrder(version)); err != nil {
			return done{}, fmt.Errorf("order the cluster: %w", err)
		}
		s.order = s.timedBeside(ctx, &s.figures.ordered, func(ctx context.Context) error { return s.awaitWelcome(ctx, version) })
		return done{text: "umbrella orders a cluster of " + version + " with a worker; it starts meanwhile"}, nil
	}); err != nil {
		return err
	}
	s.screen.Command(kubectl() + " get cluster,machines -n " + clusterNamespace)
	return nil
}

// awaitVersions says nothing if the version is there, as it is whenever the demo runs again.
func (s *story) awaitVersions(ctx context.Context, version string) error {
	if s.versions.hasEnded() {
		return s.versions.err
	}
	return s.screen.Do("waiting for Kubernetes "+version+", which is not there yet", func() (done, error) {
		return done{text: "Kubernetes " + version + " is there, which the cluster begins with"}, s.versions.wait(ctx, components{s.screen})
	})
}

func newOrder(version string) *tenancyv1alpha1.TenantCluster {
	return &tenancyv1alpha1.TenantCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: orderingNamespace, Name: orderedName},
		Spec: tenancyv1alpha1.TenantClusterSpec{Topology: &tenancyv1alpha1.ClusterTopology{
			ClassRef: tenancyv1alpha1.ClusterClassReference{Namespace: localfleet.ClassNamespace, Name: orderedClass},
			Version:  version,
			Workers:  []tenancyv1alpha1.TopologyWorkers{{Class: "default", Name: "main", Replicas: ptr.To[int32](1)}},
		}},
	}
}

// newWelcome is the customer's own add-on, for all clusters that the customer has or will have.
func newWelcome() *addonsv1alpha1.SaaSAddon {
	return &addonsv1alpha1.SaaSAddon{
		ObjectMeta: metav1.ObjectMeta{Namespace: orderingNamespace, Name: welcomeName},
		Spec: addonsv1alpha1.SaaSAddonSpec{
			PolicySpec: metav1alpha1.PolicySpec{ClusterSelector: &metav1.LabelSelector{}}, Namespace: "default",
			Source: addonsv1alpha1.AddonSource{Manifests: &addonsv1alpha1.ManifestSource{Inline: `apiVersion: v1
kind: ConfigMap
metadata: {name: welcome}
data: {kubernetes: "{{ .Cluster.Version }}"}`}},
		},
	}
}

// upgradeCluster shows the cluster that was ordered, and changes its version, which goes on beside the next acts.
func (s *story) upgradeCluster(ctx context.Context) error {
	versions := s.env.Fleet.KubernetesVersions()
	before, after := versions[0], versions[len(versions)-1]
	if err := s.screen.Do("waiting for the cluster that was ordered", func() (done, error) {
		err := s.order.wait(ctx, io.Discard)
		return done{fmt.Sprintf("since the order: a cluster of %s, a worker, the customer's add-on in it", before), s.figures.ordered}, err
	}); err != nil {
		return err
	}
	order := newOrder(before)
	change := `{"spec":{"topology":{"version":"` + after + `"}}}`
	if err := s.env.Admin.Patch(ctx, order, client.RawPatch(types.MergePatchType, []byte(change))); err != nil {
		return fmt.Errorf("change the version: %w", err)
	}
	s.upgrade = s.timedBeside(ctx, &s.figures.upgraded, func(ctx context.Context) error { return s.awaitWelcome(ctx, after) })
	s.screen.Note("it is upgraded to " + after + " meanwhile")
	s.screen.Command(kubectl() + ` patch tenantcluster ` + orderedName + ` -n ` + orderingNamespace + ` --type merge -p '` + change + `'`)
	return nil
}

// awaitWelcome waits until the ordered cluster has a version, and the add-on knows of it.
func (s *story) awaitWelcome(ctx context.Context, version string) error {
	order := newOrder(version)
	if err := await(ctx, func(ctx context.Context) (sight, error) {
		err := s.env.Admin.Get(ctx, client.ObjectKeyFromObject(order), order)
		return sight{
			happened: meta.IsStatusConditionTrue(order.Status.Conditions, metav1alpha1.ConditionReady) &&
				order.Status.Version == version && order.Status.Upgrade == nil,
			seen: fmt.Sprintf("TenantCluster %s is %s: %s", orderedName, order.Status.Phase, describe(order.Status.Conditions, metav1alpha1.ConditionReady)),
		}, err
	}); err != nil {
		return err
	}
	return await(ctx, func(ctx context.Context) (sight, error) {
		welcome := newWelcome()
		err := s.env.Admin.Get(ctx, client.ObjectKeyFromObject(welcome), welcome)
		return sight{
			happened: meta.IsStatusConditionTrue(welcome.Status.Conditions, metav1alpha1.ConditionReady) && welcome.Status.Clusters.Ready.Count == 1,
			seen:     "SaaSAddon " + welcomeName + ": " + describe(welcome.Status.Conditions, metav1alpha1.ConditionReady),
		}, err
	})
}

// returnCluster shows the cluster that was upgraded, and gives it back, which goes on beside the next acts.
func (s *story) returnCluster(ctx context.Context) error {
	versions := s.env.Fleet.KubernetesVersions()
	if err := s.screen.Do("waiting for the upgrade", func() (done, error) {
		err := s.upgrade.wait(ctx, io.Discard)
		return done{fmt.Sprintf("%s in the place of %s; add-ons paused, and followed", versions[len(versions)-1], versions[0]), s.figures.upgraded}, err
	}); err != nil {
		return err
	}
	order := newOrder("")
	if err := s.env.Admin.Delete(ctx, order); err != nil {
		return fmt.Errorf("delete the TenantCluster: %w", err)
	}
	s.returned = s.timedBeside(ctx, &s.figures.returned, func(ctx context.Context) error {
		return await(ctx, func(ctx context.Context) (sight, error) { return s.isRemoved(ctx, order) })
	})
	s.screen.Note("it is given back, and goes meanwhile")
	s.screen.Command(kubectl() + " delete tenantcluster " + orderedName + " -n " + orderingNamespace)
	return nil
}

// awaitReturned shows that the cluster that was given back is gone, and removes its customer.
func (s *story) awaitReturned(ctx context.Context) error {
	if err := s.screen.Do("waiting for the end of the cluster that was given back", func() (done, error) {
		err := s.returned.wait(ctx, io.Discard)
		return done{"umbrella's cluster is gone, and its processes and data with it", s.figures.returned}, err
	}); err != nil {
		return err
	}
	if err := s.env.Admin.Delete(ctx, newWelcome()); err != nil {
		return err
	}
	return s.env.Admin.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: orderingNamespace}})
}

// isRemoved looks at the TenantCluster, at the Cluster, and at the process of its API server.
func (s *story) isRemoved(ctx context.Context, order *tenancyv1alpha1.TenantCluster) (sight, error) {
	err := s.env.Admin.Get(ctx, client.ObjectKeyFromObject(order), order)
	if !apierrors.IsNotFound(err) {
		return sight{seen: "TenantCluster " + orderedName + ": " + describe(order.Status.Conditions, metav1alpha1.ConditionReady)}, err
	}
	err = s.env.Admin.Get(ctx, client.ObjectKey{Namespace: clusterNamespace, Name: orderedName}, &clusterv1.Cluster{})
	if !apierrors.IsNotFound(err) {
		return sight{seen: "Cluster " + orderedName + " is there"}, err
	}
	pid := s.env.Fleet.Ordered(clusterNamespace, orderedName).PID()
	return sight{happened: pid == 0, seen: fmt.Sprintf("its API server runs as process %d", pid)}, nil
}
