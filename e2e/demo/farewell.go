package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
)

// deleteEverything shows that what Daytwo made goes with what asked for it.
func (s *story) deleteEverything(ctx context.Context) error {
	before, _, err := s.labelled(ctx)
	if err != nil {
		return err
	}
	if err := s.deleteCertificates(ctx); err != nil {
		return err
	}
	if err := s.screen.Do("deleting the SaaSAddons", func() (done, error) {
		return done{text: "the SaaSAddons are deleted, and cleaned up in every cluster"},
			s.deleteAndWait(ctx, newAddon(), newChartAddon(""), newAuthority())
	}); err != nil {
		return err
	}
	s.screen.Command(kubectl() + " delete saasaddons " + addonName + " " + chartName + " -n " + providerNamespace)
	if err := s.screen.Do("looking for what is left in the clusters", func() (done, error) {
		kinds, err := s.awaitNothingLeft(ctx)
		return done{text: fmt.Sprintf("of %d objects none is left among all %d kinds; no namespace, no Helm release", before, kinds)}, err
	}); err != nil {
		return err
	}
	s.screen.Command(s.customers[0].kubectl() + " get all,configmaps,secrets,namespaces -A -l " + metav1alpha1.LabelManagedBy)
	s.screen.Command(s.customers[0].helm() + " list -A")
	if err := s.awaitReturned(ctx); err != nil {
		return err
	}
	return s.deleteCustomers(ctx)
}

func (s *story) deleteCustomers(ctx context.Context) error {
	var clusters, namespaces []client.Object
	names := ""
	for _, c := range s.customers {
		clusters = append(clusters, &tenancyv1alpha1.TenantCluster{
			ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace(), Name: tenantCluster},
		})
		namespaces = append(namespaces, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.namespace()}})
		names += " " + c.namespace()
	}
	if err := s.screen.Do("deleting the customers' clusters", func() (done, error) {
		return done{text: "the customers' clusters are let go"}, s.deleteAndWait(ctx, clusters...)
	}); err != nil {
		return err
	}
	if err := s.screen.Do("deleting the customers' namespaces", func() (done, error) {
		return done{text: "their namespaces are deleted; no finalizer holds them, no revision is left"},
			errors.Join(s.deleteAndWait(ctx, namespaces...), s.awaitNoRevision(ctx))
	}); err != nil {
		return err
	}
	s.screen.Command(kubectl() + " delete namespaces" + names)
	return nil
}

func (s *story) awaitNoRevision(ctx context.Context) error {
	return await(ctx, func(ctx context.Context) (sight, error) {
		revisions := &corev1.SecretList{}
		err := s.env.Admin.List(ctx, revisions, client.HasLabels{metav1alpha1.LabelRevision})
		return sight{happened: len(revisions.Items) == 0, seen: fmt.Sprintf("%d Secrets of revisions", len(revisions.Items))}, err
	})
}

// deleteAndWait deletes objects of the management cluster and waits until all are gone.
func (s *story) deleteAndWait(ctx context.Context, objects ...client.Object) error {
	for _, object := range objects {
		if err := s.env.Admin.Delete(ctx, object); err != nil {
			return err
		}
	}
	for _, object := range objects {
		if err := await(ctx, func(ctx context.Context) (sight, error) {
			return gone(ctx, s.env.Admin, object)
		}); err != nil {
			return err
		}
	}
	return nil
}

func gone(ctx context.Context, c client.Client, object client.Object) (sight, error) {
	err := c.Get(ctx, client.ObjectKeyFromObject(object), object)
	if apierrors.IsNotFound(err) {
		return sight{happened: true}, nil
	}
	return sight{seen: fmt.Sprintf("%s is still there, with finalizers %v", object.GetName(), object.GetFinalizers())}, err
}

// awaitNothingLeft returns how many kinds it looked through.
func (s *story) awaitNothingLeft(ctx context.Context) (kinds int, err error) {
	err = await(ctx, func(ctx context.Context) (sight, error) {
		var left int
		if left, kinds, err = s.labelled(ctx); err != nil || left > 0 {
			return sight{seen: fmt.Sprintf("%d objects with the label %s", left, metav1alpha1.LabelManagedBy)}, err
		}
		if left, err = s.recordsLeft(); err != nil || left > 0 {
			return sight{seen: fmt.Sprintf("%d Helm releases", left)}, err
		}
		return s.namespacesGone(ctx)
	})
	return kinds, err
}

func (s *story) namespacesGone(ctx context.Context) (sight, error) {
	for _, c := range s.customers {
		workload, err := s.env.Workload(c.name)
		if err != nil {
			return sight{}, err
		}
		for _, name := range []string{addonNamespace, chartName} {
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
			if now, err := gone(ctx, workload, namespace); err != nil || !now.happened {
				return sight{seen: "in cluster " + c.name + ", namespace " + now.seen}, err
			}
		}
	}
	return sight{happened: true}, nil
}

// labelled counts the objects in all customers' clusters that are labelled as Daytwo's, and the
// kinds that it looked through, which are all kinds that a cluster serves.
func (s *story) labelled(ctx context.Context) (objects, kinds int, err error) {
	for _, c := range s.customers {
		cluster, err := s.env.Fleet.Cluster(c.name)
		if err != nil {
			return 0, 0, err
		}
		discovered, err := discovery.NewDiscoveryClientForConfig(cluster.Config())
		if err != nil {
			return 0, 0, err
		}
		resources, err := listable(discovered)
		if err != nil {
			return 0, 0, fmt.Errorf("discover the kinds of cluster %s: %w", c.name, err)
		}
		lister, err := metadata.NewForConfig(cluster.Config())
		if err != nil {
			return 0, 0, err
		}
		for _, resource := range resources {
			list, err := lister.Resource(resource).List(ctx, metav1.ListOptions{LabelSelector: metav1alpha1.LabelManagedBy})
			if err != nil {
				return 0, 0, fmt.Errorf("list %s of cluster %s: %w", resource.Resource, c.name, err)
			}
			objects += len(list.Items)
		}
		kinds = len(resources)
	}
	return objects, kinds, nil
}

func listable(client discovery.DiscoveryInterface) ([]schema.GroupVersionResource, error) {
	groups, err := client.ServerPreferredResources()
	if err != nil {
		return nil, err
	}
	var all []schema.GroupVersionResource
	for _, group := range groups {
		version, err := schema.ParseGroupVersion(group.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, resource := range group.APIResources {
			if slices.Contains(resource.Verbs, "list") {
				all = append(all, version.WithResource(resource.Name))
			}
		}
	}
	return all, nil
}
