package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

// bundleName is also the name of the Secret that each cluster gets, in the namespace of the chart, where anchorsName is the ConfigMap with
// the anchors.
const (
	bundleName  = "wildcard"
	anchorsName = "authorities"
)

// deliverCertificates shows certificates that are issued in the management cluster, and kept in the customers'.
func (s *story) deliverCertificates(ctx context.Context) error {
	if err := s.issueCertificates(ctx); err != nil {
		return err
	}
	s.screen.Command(kubectl() + " get cb,cd -A")
	if err := s.showKinds(ctx, func(resource metav1.APIResource) bool {
		return slices.Contains(resource.ShortNames, "cb") || slices.Contains(resource.ShortNames, "cd")
	}); err != nil {
		return err
	}
	if err := s.revertDeletedSecret(ctx, s.customers[1]); err != nil {
		return err
	}
	if err := s.renewWhileServed(ctx, s.customers[0]); err != nil {
		return err
	}
	return s.rotateWhileServed(ctx, s.customers[0], s.customers[1])
}

// newBundle is the provider's, for all clusters of customers with the plan.
func newBundle() *certificatesv1alpha1.CertificateBundle {
	return &certificatesv1alpha1.CertificateBundle{
		ObjectMeta: metav1.ObjectMeta{Namespace: providerNamespace, Name: bundleName},
		Spec: certificatesv1alpha1.CertificateBundleSpec{
			PolicySpec: metav1alpha1.PolicySpec{
				ClusterNamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{planLabel: plan}},
				ClusterSelector:          &metav1.LabelSelector{},
			},
			Mode: certificatesv1alpha1.ModeDistribute,
			CA:   &certificatesv1alpha1.ManagedAuthority{},
			Rotation: &certificatesv1alpha1.RotationSpec{
				TrustPropagation: metav1.Duration{Duration: demoWait}, MinOverlap: metav1.Duration{Duration: demoWait},
			},
			Certificate: &certificatesv1alpha1.CertificateTemplate{DNSNames: []string{"*.{{ .Cluster.Namespace }}" + hostSuffix}},
			Targets: []certificatesv1alpha1.SecretTarget{{
				Placement: certificatesv1alpha1.Placement{Namespaces: []string{chartName}}, SecretName: bundleName,
			}},
			Trust: &certificatesv1alpha1.Trust{Targets: []certificatesv1alpha1.TrustTarget{{
				Placement: certificatesv1alpha1.Placement{Namespaces: []string{chartName}}, Kind: "ConfigMap", Name: anchorsName,
			}}},
		},
	}
}

// servedSecret is what a bundle keeps in a customer's cluster.
func servedSecret() *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: chartName, Name: bundleName}}
}

// issueCertificates creates the bundle, and checks what is in the clusters then.
func (s *story) issueCertificates(ctx context.Context) error {
	if err := s.screen.Do("creating the CertificateBundle", func() (done, error) {
		start := time.Now()
		if err := s.env.Admin.Create(ctx, newBundle()); err != nil {
			return done{}, fmt.Errorf("create CertificateBundle %s: %w", bundleName, err)
		}
		err := s.awaitDelivered(ctx)
		s.figures.certified = time.Since(start)
		return done{"a wildcard for each customer: issued, checked, in the cluster, and read back", s.figures.certified}, err
	}); err != nil {
		return err
	}
	keys := map[string]string{}
	for _, c := range s.customers {
		secret, err := s.readServed(ctx, c)
		if err != nil {
			return err
		}
		trusted, err := s.readTrusted(ctx, c)
		if err != nil {
			return err
		}
		if err := checkServed(secret, c, trusted); err != nil {
			return fmt.Errorf("in cluster %s: %w", c.name, err)
		}
		if other, taken := keys[string(secret.Data[corev1.TLSPrivateKeyKey])]; taken {
			return fmt.Errorf("clusters %s and %s have one key", other, c.name)
		}
		keys[string(secret.Data[corev1.TLSPrivateKeyKey])] = c.name
	}
	s.screen.Note(fmt.Sprintf("names are templates: *.%s%s, *.%s%s, …; each cluster has a key of its own",
		s.customers[0].namespace(), hostSuffix, s.customers[1].namespace(), hostSuffix))
	s.screen.Note("they are signed by an authority that Daytwo made for the bundle")
	return nil
}

// awaitDelivered waits until the bundle is ready in all clusters.
func (s *story) awaitDelivered(ctx context.Context) error {
	bundle := newBundle()
	return await(ctx, func(ctx context.Context) (sight, error) {
		err := s.env.Admin.Get(ctx, client.ObjectKeyFromObject(bundle), bundle)
		status := bundle.Status
		return sight{
			happened: status.ObservedGeneration == bundle.Generation && status.Clusters.Ready.Count == int32(len(s.customers)) &&
				meta.IsStatusConditionTrue(status.Conditions, metav1alpha1.ConditionReady),
			seen: "CertificateBundle: " + describe(status.Conditions, metav1alpha1.ConditionReady) +
				"; " + describe(status.Conditions, certificatesv1alpha1.ConditionIssued),
		}, err
	})
}

// delivery of the bundle in a customer's cluster.
func (s *story) delivery(ctx context.Context, c customer) (*certificatesv1alpha1.CertificateDelivery, error) {
	list := &certificatesv1alpha1.CertificateDeliveryList{}
	err := s.env.Admin.List(ctx, list, client.InNamespace(providerNamespace), client.MatchingLabels{
		metav1alpha1.LabelPolicy: bundleName, metav1alpha1.LabelClusterNamespace: c.namespace(), metav1alpha1.LabelCluster: tenantCluster,
	})
	if err == nil && len(list.Items) != 1 {
		err = fmt.Errorf("there are %d CertificateDeliveries of %s for %s/%s", len(list.Items), bundleName, c.namespace(), tenantCluster)
	}
	if err != nil {
		return nil, err
	}
	return &list.Items[0], nil
}

// revertDeletedSecret shows that what is deleted comes back, and not as a new certificate.
func (s *story) revertDeletedSecret(ctx context.Context, c customer) error {
	before, err := s.readServed(ctx, c)
	if err != nil {
		return err
	}
	old, err := s.delivery(ctx, c)
	if err != nil {
		return err
	}
	if err := s.screen.Do(c.name+": the Secret is deleted", func() (done, error) {
		took, err := s.measure(ctx, edit{
			customer: c, object: servedSecret(), list: &corev1.SecretList{}, make: deleteObject,
			declared: func(object client.Object) bool { return sameData(object.(*corev1.Secret), before) },
		})
		s.figures.rollbacks = append(s.figures.rollbacks, took)
		return done{c.name + ": the Secret is deleted, and is back with the same key", took}, err
	}); err != nil {
		return err
	}
	var now *certificatesv1alpha1.CertificateDelivery
	if err := await(ctx, func(ctx context.Context) (sight, error) {
		now, err = s.delivery(ctx, c)
		return sight{happened: err == nil && now.Status.Drift.Count > old.Status.Drift.Count, seen: "no drift in the status"}, err
	}); err != nil {
		return fmt.Errorf("status does not tell of it: %w", err)
	}
	s.screen.Note("status: " + actor(now.Status.Drift.Corrections[0]))
	s.screen.Command(c.kubectl() + " -n " + chartName + " delete secret " + bundleName)
	return nil
}

// deleteCertificates shows that no key stays when a bundle is deleted.
func (s *story) deleteCertificates(ctx context.Context) error {
	if err := s.screen.Do("deleting the CertificateBundle", func() (done, error) {
		err := s.deleteAndWait(ctx, newBundle())
		for _, c := range s.customers {
			err = errors.Join(err, s.awaitNotServed(ctx, c))
		}
		return done{text: "the CertificateBundle is deleted; none of its keys is left in any cluster"}, errors.Join(err, s.awaitNoIssuance(ctx))
	}); err != nil {
		return err
	}
	s.screen.Command(kubectl() + " delete cb " + bundleName + " -n " + providerNamespace)
	return nil
}

func (s *story) awaitNotServed(ctx context.Context, c customer) error {
	workload, err := s.env.Workload(c.name)
	if err != nil {
		return err
	}
	return await(ctx, func(ctx context.Context) (sight, error) { return gone(ctx, workload, servedSecret()) })
}

// awaitNoIssuance waits until the management cluster has no Secret of the bundle, neither Daytwo's nor cert-manager's, and no authority.
func (s *story) awaitNoIssuance(ctx context.Context) error {
	return await(ctx, func(ctx context.Context) (sight, error) {
		keys, authorities := &corev1.SecretList{}, &corev1.SecretList{}
		err := errors.Join(
			s.env.Admin.List(ctx, keys, client.HasLabels{metav1alpha1.LabelBundle}),
			s.env.Admin.List(ctx, authorities, client.HasLabels{metav1alpha1.LabelAuthority}),
		)
		left := len(keys.Items) + len(authorities.Items)
		return sight{happened: err == nil && left == 0, seen: fmt.Sprintf("%d Secrets with keys", left)}, err
	})
}
