package main

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/e2e/environment"
)

// planLabel is on the namespaces of customers who pay for the add-on. Only the provider can set it.
const (
	planLabel = metav1alpha1.ProviderLabelPrefix + "plan"
	plan      = "gold"
)

func (s *story) startManagement(ctx context.Context) error {
	err := s.screen.Do("starting etcd, an API server, Cluster API, cert-manager and the manager", func() (done, error) {
		env, err := environment.Start(ctx, environment.Options{
			StateDir: stateDir, ClusterAPI: true, CertManager: true, Velero: true, Manager: s.manager,
			Detached: s.keep, VersionsLater: true, Progress: s.screen, Components: components{s.screen},
			// The registry of charts and the storage of backups are on this machine.
			ManagerArgs: []string{"--allow-private-sources", "--allow-private-storage"},
		})
		s.env = env
		return done{text: "API server, Cluster API, cert-manager, CRDs and roles; the manager is ready"}, err
	})
	if err != nil {
		return err
	}
	s.screen.Command(kubectl() + " api-resources --categories daytwo,daytwo-targets")
	s.versions = s.beside(ctx, s.env.Fleet.ProvideVersions)
	return nil
}

func (s *story) registerCustomers(ctx context.Context) error {
	err := s.screen.Do("starting three clusters", func() (done, error) {
		return done{text: "clusters acme, globex and initech run, with nodes played by KWOK"}, s.startClusters(ctx)
	})
	if err != nil {
		return err
	}
	err = s.screen.Do("registering them", func() (done, error) {
		for _, c := range s.customers {
			if err := s.register(ctx, c); err != nil {
				return done{}, err
			}
		}
		for _, c := range s.customers {
			if err := s.awaitConnected(ctx, c); err != nil {
				return done{}, err
			}
		}
		return done{text: "three kubeconfigs imported: checked, connected, identities recorded"}, nil
	})
	if err == nil {
		s.screen.Command(kubectl() + " get tenantclusters -A")
	}
	return err
}

func (s *story) startClusters(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, c := range s.customers {
		group.Go(func() error {
			_, err := s.env.Fleet.AddCluster(ctx, c.name, s.clusterOptions(c))
			return err
		})
	}
	return group.Wait()
}

func (s *story) register(ctx context.Context, c customer) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: c.namespace(), Labels: map[string]string{planLabel: plan},
	}}
	if err := s.env.Admin.Create(ctx, namespace); err != nil {
		return fmt.Errorf("create namespace %s: %w", namespace.Name, err)
	}
	return s.env.RegisterAs(ctx, client.ObjectKey{Namespace: c.namespace(), Name: tenantCluster}, c.name, nil)
}

func (s *story) awaitConnected(ctx context.Context, c customer) error {
	cluster := &tenancyv1alpha1.TenantCluster{}
	return await(ctx, func(ctx context.Context) (sight, error) {
		err := s.env.Admin.Get(ctx, client.ObjectKey{Namespace: c.namespace(), Name: tenantCluster}, cluster)
		return sight{
			happened: meta.IsStatusConditionTrue(cluster.Status.Conditions, metav1alpha1.ConditionReady),
			seen:     "TenantCluster " + c.namespace() + "/" + tenantCluster + ": " + describe(cluster.Status.Conditions, metav1alpha1.ConditionReady),
		}, err
	})
}
