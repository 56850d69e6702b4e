package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/e2e/environment"
)

// What certificates are in the clusters: Daytwo's in one namespace, those of the floor in another.
const (
	certifiedNamespace = "certified"
	bareCertified      = "bare-certified"
)

// certificateRounds are fewer than those of other rows: cert-manager takes seconds for each.
const certificateRounds = 3

// certified is a fleet with cert-manager in its management cluster, and an authority there that issues.
type certified struct {
	*bench
	authority *bareAuthority
	// concurrency of the floor, in Secrets at a time and cluster.
	concurrency int
}

// certificates measures what bundles cost in a fleet of its own.
func (b *bench) certificates(ctx context.Context) (results []result, err error) {
	env, err := environment.Start(ctx, environment.Options{
		StateDir: b.stateDir + "-certificates", Clusters: b.clusters, Bare: true, CertManager: true, Manager: b.manager, Progress: b.out,
		ManagerArgs: []string{"--leader-election=off"},
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, env.Close()) }()
	own := &bench{options: b.options, out: b.out, env: env, fleet: env.Fleet.Clusters()}
	if err := own.prepare(ctx); err != nil {
		return nil, err
	}
	c := &certified{bench: own}
	if err := c.open(ctx); err != nil {
		return nil, err
	}
	for _, measure := range []func(context.Context) ([]result, error){c.deliver, c.issue, c.rotate} {
		measured, err := measure(ctx)
		if err != nil {
			return results, err
		}
		results = append(results, measured...)
	}
	return results, nil
}

// open registers the clusters, and makes what all rounds need.
func (c *certified) open(ctx context.Context) error {
	for _, cluster := range c.fleet {
		workload, err := c.env.Workload(cluster.Name())
		if err != nil {
			return err
		}
		for _, name := range []string{certifiedNamespace, bareCertified} {
			if err := workload.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
				return err
			}
		}
		if err := c.env.Register(ctx, fleetNamespace, cluster.Name(), nil); err != nil {
			return err
		}
	}
	var err error
	if c.authority, err = c.createAuthority(ctx, "authority"); err != nil {
		return err
	}
	return c.until(ctx, 100*time.Millisecond, func(now metrics) bool {
		return now.total("daytwo_cluster_connected", isOne) == float64(c.clusters)
	})
}

// newCertificateBundle is a bundle for all clusters, with a Secret of its own name in each.
func (c *certified) newCertificateBundle(name string) *certificatesv1alpha1.CertificateBundle {
	place := certificatesv1alpha1.Placement{Namespaces: []string{certifiedNamespace}}
	return &certificatesv1alpha1.CertificateBundle{
		ObjectMeta: metav1.ObjectMeta{Namespace: fleetNamespace, Name: name},
		Spec: certificatesv1alpha1.CertificateBundleSpec{
			PolicySpec: metav1alpha1.PolicySpec{
				ClusterSelector: &metav1.LabelSelector{}, Rollout: metav1alpha1.RolloutPolicy{MaxConcurrent: int32(c.clusters)},
			},
			IssuerRef:   &certificatesv1alpha1.IssuerReference{Name: c.authority.name},
			Certificate: &certificatesv1alpha1.CertificateTemplate{DNSNames: []string{hostOf(name, "{{ .Cluster.Name }}")}},
			Targets:     []certificatesv1alpha1.SecretTarget{{Placement: place, SecretName: name, IncludeCA: true}},
		},
	}
}

// hostOf is the name that a certificate is for.
func hostOf(bundle, cluster string) string { return fmt.Sprintf("%s.%s.test", bundle, cluster) }

// eachBundle does something with several bundles at the same time.
func eachBundle(bundles []*certificatesv1alpha1.CertificateBundle, work func(*certificatesv1alpha1.CertificateBundle) error) error {
	group := errgroup.Group{}
	group.SetLimit(atATime)
	for _, bundle := range bundles {
		group.Go(func() error { return work(bundle) })
	}
	return group.Wait()
}

func (c *certified) createBundles(ctx context.Context, bundles []*certificatesv1alpha1.CertificateBundle) error {
	return eachBundle(bundles, func(bundle *certificatesv1alpha1.CertificateBundle) error {
		if err := c.env.Admin.Create(ctx, bundle); err != nil {
			return fmt.Errorf("create bundle %s: %w", bundle.Name, err)
		}
		return nil
	})
}

// timeDeliveries returns how long it takes after a change until the deliveries of some bundles are Ready in all clusters.
func (c *certified) timeDeliveries(
	ctx context.Context, bundles []*certificatesv1alpha1.CertificateBundle, change func() error,
) (time.Duration, error) {
	start := time.Now()
	group, working := errgroup.WithContext(ctx)
	group.Go(func() error { return c.awaitDeliveries(working, bundles) })
	group.Go(change)
	if err := group.Wait(); err != nil {
		return 0, fmt.Errorf("deliveries of %d bundles: %w", len(bundles), err)
	}
	took := time.Since(start)
	return took, c.confirmSecrets(ctx, bundles)
}

// awaitDeliveries returns when the deliveries of some bundles are Ready in all clusters. A watch that ends begins anew, with all that
// is there.
func (c *certified) awaitDeliveries(ctx context.Context, bundles []*certificatesv1alpha1.CertificateBundle) error {
	for {
		watching, err := c.env.Admin.Watch(ctx, &certificatesv1alpha1.CertificateDeliveryList{}, client.InNamespace(fleetNamespace), ofBundles(bundles))
		if err != nil {
			return err
		}
		err = awaitTargets(ctx, watching, len(bundles)*c.clusters, isDelivered)
		watching.Stop()
		if !errors.Is(err, errWatchEnded) {
			return err
		}
	}
}

// confirmSecrets looks whether the Secrets are where their deliveries say they are, and lets the manager come to rest.
func (c *certified) confirmSecrets(ctx context.Context, bundles []*certificatesv1alpha1.CertificateBundle) error {
	err := c.everywhere(func(i int) error {
		for _, bundle := range bundles {
			if err := c.bare[i].Exists(ctx, secretObject(certifiedNamespace, bundle.Name)); err != nil {
				return fmt.Errorf("bundle %s is said to be in %s, but: %w", bundle.Name, c.fleet[i].Name(), err)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return c.quiet(ctx)
}
