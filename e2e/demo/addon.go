package main

import (
	"context"
	_ "embed" // for addon.yaml
	"fmt"
	"time"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
)

// What addon.yaml declares. The objects are in addonNamespace of each customer's cluster.
const (
	addonName      = "cache"
	addonNamespace = "cache"
	settingsName   = "settings"
	deploymentName = "cache"
	replicas       = 2
	maxMemoryKey   = "maxmemory"
	maxMemory      = "64mb"
	image          = "cache:1.0"
	newImage       = "cache:1.1"
)

// providerNamespace is where the provider's own policies are.
const providerNamespace = "daytwo-system"

//go:embed addon.yaml
var addonManifests string

func addonKey(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: providerNamespace, Name: name}
}

// newAddon is the provider's add-on of manifests.
func newAddon() *addonsv1alpha1.SaaSAddon {
	return addonOf(addonName, addonNamespace, addonsv1alpha1.AddonSource{
		Manifests: &addonsv1alpha1.ManifestSource{Inline: addonManifests},
	})
}

// addonOf is an add-on for all clusters of customers with the plan.
func addonOf(name, namespace string, source addonsv1alpha1.AddonSource) *addonsv1alpha1.SaaSAddon {
	return &addonsv1alpha1.SaaSAddon{
		ObjectMeta: metav1.ObjectMeta{Namespace: providerNamespace, Name: name},
		Spec: addonsv1alpha1.SaaSAddonSpec{
			PolicySpec: metav1alpha1.PolicySpec{
				ClusterNamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{planLabel: plan}},
				ClusterSelector:          &metav1.LabelSelector{},
			},
			Namespace:       namespace,
			CreateNamespace: true,
			Source:          source,
		},
	}
}

func (s *story) installAddon(ctx context.Context) error {
	err := s.screen.Do("creating the SaaSAddon and waiting for its pods", func() (done, error) {
		start := time.Now()
		if err := s.env.Admin.Create(ctx, newAddon()); err != nil {
			return done{}, fmt.Errorf("create SaaSAddon %s: %w", addonName, err)
		}
		err := s.awaitReady(ctx, addonName, s.customers...)
		s.figures.ready = time.Since(start)
		return done{"ConfigMap, Service, Deployment: from create to Ready in every cluster", s.figures.ready}, err
	})
	if err != nil {
		return err
	}
	for _, c := range s.customers {
		if err := s.checkInstalled(ctx, c); err != nil {
			return err
		}
	}
	s.screen.Note(fmt.Sprintf("rendered for each: in %s's ConfigMap %s, cluster is %s/%s", s.customers[0].name, settingsName, s.customers[0].namespace(), tenantCluster))
	s.screen.Command(kubectl() + " get addonreleases -n " + providerNamespace)
	s.screen.Command(s.customers[0].kubectl() + " get all -n " + addonNamespace)
	return nil
}

// checkInstalled does not take the manager's word for it.
func (s *story) checkInstalled(ctx context.Context, c customer) error {
	workload, err := s.env.Workload(c.name)
	if err != nil {
		return err
	}
	settings := &corev1.ConfigMap{}
	if err := workload.Get(ctx, client.ObjectKey{Namespace: addonNamespace, Name: settingsName}, settings); err != nil {
		return err
	}
	if want, got := c.namespace()+"/"+tenantCluster, settings.Data["cluster"]; got != want {
		return fmt.Errorf("in cluster %s the template made %q of the cluster's name; want %q", c.name, got, want)
	}
	deployment := &appsv1.Deployment{}
	if err := workload.Get(ctx, client.ObjectKey{Namespace: addonNamespace, Name: deploymentName}, deployment); err != nil {
		return err
	}
	if ready := deployment.Status.ReadyReplicas; ready != replicas {
		return fmt.Errorf("in cluster %s, %d of %d pods are ready although the add-on is said to be", c.name, ready, replicas)
	}
	return nil
}
