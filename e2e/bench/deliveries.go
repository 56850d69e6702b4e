package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/client"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

const (
	deliveriesRow = "certificate_deliveries_1000"
	recordedRow   = "certificate_deliveries_recorded"
)

// deliver measures how long certificates that are issued already take into all clusters. cert-manager takes longer for a
// certificate than everybody else for all deliveries of it, so it has no part in this: each bundle has one certificate for all
// clusters, which is there before the bundle is let go. The floor reads the same issuances, checks each before each write, and
// applies the same Secrets. The floor of the second row also keeps a record of each delivery in the management cluster, as
// Daytwo does.
func (c *certified) deliver(ctx context.Context) ([]result, error) {
	records, err := c.newRecords(ctx)
	if err != nil {
		return nil, err
	}
	var ours, floors, recorded []float64
	for round := range certificateRounds {
		bundles, err := c.issueSuspended(ctx, round)
		if err != nil {
			return nil, err
		}
		if round == 0 {
			if err := c.tryConcurrencies(ctx, bundles); err != nil {
				return nil, err
			}
		}
		took, err := c.timeDeliveries(ctx, bundles, func() error { return c.resume(ctx, bundles) })
		if err != nil {
			return nil, err
		}
		bare, err := c.deliverBare(ctx, fmt.Sprintf("round-%d", round), bundles)
		if err != nil {
			return nil, err
		}
		kept, err := records.deliver(ctx, fmt.Sprintf("recorded-%d", round), bundles)
		if err != nil {
			return nil, err
		}
		c.progressf("round %d: %d deliveries after %.2f s, floor %.2f s, with records %.2f s",
			round, len(bundles)*c.clusters, took.Seconds(), bare.Seconds(), kept.Seconds())
		ours, floors, recorded = append(ours, took.Seconds()), append(floors, bare.Seconds()), append(recorded, kept.Seconds())
	}
	return []result{
		newResult(deliveriesRow, "s", median(ours), median(floors)), newResult(recordedRow, "s", median(ours), median(recorded)),
	}, nil
}

// issueSuspended creates bundles that reach no cluster yet, and returns when all certificates are there.
func (c *certified) issueSuspended(ctx context.Context, round int) ([]*certificatesv1alpha1.CertificateBundle, error) {
	var bundles []*certificatesv1alpha1.CertificateBundle
	for i := range c.bundles {
		bundle := c.newCertificateBundle(fmt.Sprintf("shared-%d-%d", round, i))
		bundle.Spec.Suspend, bundle.Spec.SharedKey = true, true
		bundle.Spec.Certificate.DNSNames = []string{sharedHost(bundle.Name)}
		bundles = append(bundles, bundle)
	}
	if err := c.createBundles(ctx, bundles); err != nil {
		return nil, err
	}
	err := poll(ctx, "all certificates are issued", func(ctx context.Context) (bool, error) {
		issued, err := c.issuances(ctx, bundles)
		return len(issued) == len(bundles), err
	})
	if err != nil {
		return nil, err
	}
	return bundles, c.quiet(ctx)
}

func sharedHost(bundle string) string { return hostOf(bundle, "all") }

// resume lets bundles go.
func (c *certified) resume(ctx context.Context, bundles []*certificatesv1alpha1.CertificateBundle) error {
	return eachBundle(bundles, func(bundle *certificatesv1alpha1.CertificateBundle) error {
		return c.env.Admin.Patch(ctx, bundle, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"suspend":false}}`)))
	})
}

// issuances of some bundles.
func (c *certified) issuances(ctx context.Context, bundles []*certificatesv1alpha1.CertificateBundle) ([]corev1.Secret, error) {
	list := &corev1.SecretList{}
	err := c.env.Admin.List(ctx, list, client.InNamespace(fleetNamespace), labelled(metav1alpha1.LabelBundle, bundles),
		client.MatchingFields{"type": string(metav1alpha1.SecretTypeIssuance)})
	return list.Items, err
}

// ofBundles selects the deliveries of some bundles.
func ofBundles(bundles []*certificatesv1alpha1.CertificateBundle) client.ListOption {
	return labelled(metav1alpha1.LabelPolicy, bundles)
}

// labelled selects objects whose label names one of some bundles.
func labelled(label string, bundles []*certificatesv1alpha1.CertificateBundle) client.MatchingLabelsSelector {
	var names []string
	for _, bundle := range bundles {
		names = append(names, bundle.Name)
	}
	// What the names of objects are, values of labels may be.
	requirement, err := labels.NewRequirement(label, selection.In, names)
	if err != nil {
		return client.MatchingLabelsSelector{Selector: labels.Nothing()}
	}
	return client.MatchingLabelsSelector{Selector: labels.NewSelector().Add(*requirement)}
}

// isDelivered: the delivery is Ready with the issuance that it names.
func isDelivered(delivery *certificatesv1alpha1.CertificateDelivery) bool {
	ready := meta.FindStatusCondition(delivery.Status.Conditions, metav1alpha1.ConditionReady)
	told := delivery.Status.Certificate
	return ready != nil && ready.Status == metav1.ConditionTrue && ready.ObservedGeneration == delivery.Generation &&
		told != nil && told.Issuance == delivery.Spec.Content
}

// deliverBare delivers the certificates of bundles without Daytwo, in Secrets whose names begin as given.
func (c *certified) deliverBare(ctx context.Context, prefix string, bundles []*certificatesv1alpha1.CertificateBundle) (time.Duration, error) {
	start := time.Now()
	issued, err := c.issuances(ctx, bundles)
	if err != nil {
		return 0, err
	}
	var wanted []bareDelivery
	for i := range issued {
		bundle := issued[i].Labels[metav1alpha1.LabelBundle]
		wanted = append(wanted, bareDelivery{name: prefix + "-" + bundle, host: sharedHost(bundle), data: issued[i].Data})
	}
	err = c.everywhere(func(i int) error { return c.deliverAllBare(ctx, i, wanted) })
	return time.Since(start), err
}

// tryConcurrencies finds out how the floor is fastest: the best of two tries each.
func (c *certified) tryConcurrencies(ctx context.Context, bundles []*certificatesv1alpha1.CertificateBundle) error {
	var fastest int
	var least time.Duration
	for try := range 2 {
		for _, c.concurrency = range concurrencies {
			took, err := c.deliverBare(ctx, fmt.Sprintf("try-%d-%d", c.concurrency, try), bundles)
			if err != nil {
				return err
			}
			c.progressf("floor with %d Secrets at a time in every cluster: %.2f s", c.concurrency, took.Seconds())
			if fastest == 0 || took < least {
				fastest, least = c.concurrency, took
			}
		}
	}
	c.concurrency = fastest
	return nil
}
