package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	"github.com/daytwo-dev/daytwo/e2e/bench/floor"
)

const (
	issuedRow = "certificates_issued_200"
	// issuedPart is which part of the bundles has a certificate for each cluster: with all of them cert-manager alone would take
	// minutes for each round.
	issuedPart = 5
	// bareIssuing is the label of what the floor has issued, whose value says for what.
	bareIssuing = "bench.daytwo.dev/issuing"
)

// issue measures how long it takes from bundles with a certificate for each cluster, which is what a bundle has unless it says
// otherwise, until all of them are issued and delivered. The floor asks the same cert-manager for the same certificates, and
// applies each as soon as it is there.
func (c *certified) issue(ctx context.Context) ([]result, error) {
	var ours, floors []float64
	for round := range certificateRounds {
		var bundles []*certificatesv1alpha1.CertificateBundle
		for i := range max(1, c.bundles/issuedPart) {
			bundles = append(bundles, c.newCertificateBundle(fmt.Sprintf("own-%d-%d", round, i)))
		}
		took, err := c.timeDeliveries(ctx, bundles, func() error { return c.createBundles(ctx, bundles) })
		if err != nil {
			return nil, err
		}
		bare, err := c.issueBare(ctx, c.wantedOf(bundles), fmt.Sprintf("round-%d", round), c.authority)
		if err != nil {
			return nil, err
		}
		c.progressf("round %d: %d certificates issued and delivered after %.2f s, floor %.2f s", round, len(bundles)*c.clusters, took.Seconds(), bare.Seconds())
		ours, floors = append(ours, took.Seconds()), append(floors, bare.Seconds())
	}
	return []result{newResult(issuedRow, "s", median(ours), median(floors))}, nil
}

// bareCertificate is one that the floor asks for.
type bareCertificate struct {
	bareDelivery
	// cluster that it is for, by its place in the fleet.
	cluster int
}

func (c *certified) wantedOf(bundles []*certificatesv1alpha1.CertificateBundle) map[string]bareCertificate {
	wanted := map[string]bareCertificate{}
	for _, bundle := range bundles {
		for i, cluster := range c.fleet {
			name := fmt.Sprintf("bare-%s-%s", bundle.Name, cluster.Name())
			wanted[name] = bareCertificate{bareDelivery{name: name, host: hostOf(bundle.Name, cluster.Name())}, i}
		}
	}
	return wanted
}

// issueBare has certificates issued from an authority, and returns how long it took until all were delivered. Their names are those
// of their Certificates and Secrets.
func (c *certified) issueBare(ctx context.Context, wanted map[string]bareCertificate, label string, authority *bareAuthority) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	watching, err := c.env.Admin.Watch(ctx, &corev1.SecretList{}, client.InNamespace(fleetNamespace), client.MatchingLabels{bareIssuing: label})
	if err != nil {
		return 0, err
	}
	defer watching.Stop()
	start := time.Now()
	group, working := errgroup.WithContext(ctx)
	group.Go(func() error { return c.askBare(working, wanted, label, authority) })
	group.Go(func() error { return c.deliverIssued(working, watching, wanted, authority) })
	err = group.Wait()
	return time.Since(start), err
}

// askBare asks cert-manager for certificates as Daytwo does.
func (c *certified) askBare(ctx context.Context, wanted map[string]bareCertificate, label string, authority *bareAuthority) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atATime)
	for name, one := range wanted {
		asked := certManagerObject("Certificate", name, map[string]any{
			"secretName": name, "secretTemplate": map[string]any{"labels": map[string]any{bareIssuing: label}},
			"issuerRef": map[string]any{"group": "cert-manager.io", "kind": "Issuer", "name": authority.name},
			"duration":  "2160h0m0s", "renewBefore": "720h0m0s", "revisionHistoryLimit": 1,
			"privateKey": map[string]any{"algorithm": "ECDSA", "encoding": "PKCS8", "rotationPolicy": "Always"},
			"usages":     []any{"digital signature", "key encipherment", "server auth"}, "dnsNames": []any{one.host},
		})
		group.Go(func() error {
			return c.env.Admin.Apply(ctx, client.ApplyConfigurationFromUnstructured(asked), client.FieldOwner(floor.Manager))
		})
	}
	return group.Wait()
}

// deliverIssued delivers each certificate once it is issued from the authority.
func (c *certified) deliverIssued(ctx context.Context, watching watch.Interface, wanted map[string]bareCertificate, authority *bareAuthority) error {
	group, ctx := errgroup.WithContext(ctx)
	delivered := map[string]bool{}
	for len(delivered) < len(wanted) {
		select {
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("%d of %d certificates are issued: %w", len(delivered), len(wanted), ctx.Err()), group.Wait())
		case event, open := <-watching.ResultChan():
			secret, ok := event.Object.(*corev1.Secret)
			if !open || !ok {
				return fmt.Errorf("the watch of what is issued ended: %v", event.Object)
			}
			one, is := wanted[secret.Name]
			one.data = secret.Data
			// What is there before is from another authority.
			if !is || delivered[secret.Name] || one.check(authority.roots) != nil {
				continue
			}
			delivered[secret.Name] = true
			group.Go(func() error { return c.deliverOneBare(ctx, one.cluster, one.bareDelivery, authority) })
		}
	}
	return group.Wait()
}
