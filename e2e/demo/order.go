package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// orderCluster shows a cluster that is one resource from order to end.
func (s *story) orderCluster(ctx context.Context) error {
	versions := s.env.Fleet.KubernetesVersions()
	before, after := versions[0], versions[len(versions)-1]
	if err := s.awaitVersions(ctx, before); err != nil {
		return err
	}
	if err := s.makeCluster(ctx, before); err != nil {
		return err
	}
	if err := s.upgradeCluster(ctx, before, after); err != nil {
		return err
	}
	return s.removeCluster(ctx)
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

func (s *story) makeCluster(ctx context.Context, version string) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: orderingNamespace}}
	for _, object := range []client.Object{namespace, newWelcome()} {
		if err := s.env.Admin.Create(ctx, object); err != nil {
			return fmt.Errorf("create %s: %w", object.GetName(), err)
		}
	}
	err := s.screen.Do("ordering a cluster of Kubernetes "+version, func() (done, error) {
		start := time.Now()
		if err := s.env.Admin.Create(ctx, newOrder(version)); err != nil {
			return done{}, fmt.Errorf("order the cluster: %w", err)
		}
		err := s.awaitWelcome(ctx, version)
		s.figures.ordered = time.Since(start)
		return done{fmt.Sprintf("a cluster of %s with a worker, and the customer's add-on in it", version), s.figures.ordered}, err
	})
	if err == nil {
		s.screen.Command(kubectl() + " get cluster,machines -n " + clusterNamespace)
	}
	return err
}

func (s *story) upgradeCluster(ctx context.Context, before, after string) error {
	err := s.screen.Do("upgrading it to "+after, func() (done, error) {
		start := time.Now()
		order := newOrder(before)
		if err := s.env.Admin.Get(ctx, client.ObjectKeyFromObject(order), order); err != nil {
			return done{}, err
		}
		unchanged := order.DeepCopy()
		order.Spec.Topology.Version = after
		if err := s.env.Admin.Patch(ctx, order, client.MergeFrom(unchanged)); err != nil {
			return done{}, fmt.Errorf("change the version: %w", err)
		}
		err := s.awaitWelcome(ctx, after)
		s.figures.upgraded = time.Since(start)
		return done{fmt.Sprintf("%s in the place of %s; add-ons paused, and followed", after, before), s.figures.upgraded}, err
	})
	if err == nil {
		s.screen.Command(kubectl() + ` patch tenantcluster ` + orderedName + ` -n ` + orderingNamespace +
			` --type merge -p '{"spec":{"topology":{"version":"` + after + `"}}}'`)
	}
	return err
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

func (s *story) removeCluster(ctx context.Context) error {
	err := s.screen.Do("giving it back", func() (done, error) {
		start := time.Now()
		order := newOrder("")
		if err := s.env.Admin.Delete(ctx, order); err != nil {
			return done{}, fmt.Errorf("delete the TenantCluster: %w", err)
		}
		err := await(ctx, func(ctx context.Context) (sight, error) { return s.isRemoved(ctx, order) })
		s.figures.returned = time.Since(start)
		return done{"the cluster is gone, and its processes and data with it", s.figures.returned}, err
	})
	if err != nil {
		return err
	}
	s.screen.Command(kubectl() + " delete tenantcluster " + orderedName + " -n " + orderingNamespace)
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
