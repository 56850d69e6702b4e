package controllers

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/certificatebundle/authority"
	"github.com/daytwo-dev/daytwo/controllers/internal/certificatecontent"
)

// TestKilledInARotationItEndsWithOneAuthority replaces the authorities of bundles and deletes these, one bundle after the other. The manager is killed
// after the first write of each phase, then after the second, and so on. No authority and no certificate is made more often than
// in the undisturbed run.
func TestKilledInARotationItEndsWithOneAuthority(t *testing.T) {
	t.Parallel()
	const sampled = 8 // A rotation makes some 60 writes, and a life takes ten seconds.
	w := newBundleEnv(t)
	w.liveAll(t, sampled, w.describe, []lifePhase{
		{"issuance", w.issueOwn, w.isNotIssuedBy(1)},
		{"rotation", w.rotate, w.isNotIssuedBy(2)},
		{"deletion", w.deleteBundle, w.isNotGone},
	})
}

// issueOwn makes a bundle with an authority of its own.
func (w *bundleEnv) issueOwn(name string) {
	w.t.Helper()
	place := certificatesv1alpha1.Placement{Namespaces: []string{"default"}}
	short := metav1.Duration{Duration: time.Second}
	w.makeBundle(name, func(spec *certificatesv1alpha1.CertificateBundleSpec) {
		spec.Mode, spec.HistoryLimit = certificatesv1alpha1.ModeDistribute, 1
		spec.CA = &certificatesv1alpha1.ManagedAuthority{}
		spec.Rotation = &certificatesv1alpha1.RotationSpec{TrustPropagation: short, MinOverlap: short}
		spec.Certificate = &certificatesv1alpha1.CertificateTemplate{DNSNames: []string{name + ".{{ .Cluster.Name }}.test"}}
		spec.Targets = []certificatesv1alpha1.SecretTarget{{Placement: place, SecretName: name + "-tls", IncludeCA: true}}
	})
}

func (w *bundleEnv) rotate(name string) {
	w.t.Helper()
	w.patch(&certificatesv1alpha1.CertificateBundle{}, name, `{"spec":{"rotation":{"ca":"next"}}}`)
}

// isNotIssuedBy says why a generation of the authority is not the only one yet, in all clusters.
func (w *bundleEnv) isNotIssuedBy(generation int64) func(name string) string {
	return func(name string) string {
		bundle := &certificatesv1alpha1.CertificateBundle{}
		if err := w.management.Get(context.Background(), client.ObjectKey{Namespace: "default", Name: name}, bundle); err != nil {
			return err.Error()
		}
		told := bundle.Status.Rotation
		if told == nil || told.Phase != certificatesv1alpha1.RotationIdle || told.Current.Generation != generation || len(told.BlockedBy) > 0 {
			return fmt.Sprintf("the rotation is %+v", told)
		}
		if why := isNotReadyNow(bundle.Status.Conditions, bundle.Generation); why != "" {
			return "the bundle " + why
		}
		if authorities := w.authoritiesOf(name); !slices.Equal(authorities, []string{authority.Name(name, generation)}) {
			return fmt.Sprintf("there are %v", authorities)
		}
		issuances, err := w.issuancesOf(name)
		if err != nil || len(issuances) != len(bundleClusters) {
			return fmt.Sprintf("there are %d issuances: %v", len(issuances), err)
		}
		return w.isNotTold(name, generation)
	}
}

// isNotTold says which delivery does not trust a generation alone, or has a certificate of another one.
func (w *bundleEnv) isNotTold(name string, generation int64) string {
	deliveries, err := w.deliveriesOf(name)
	if err != nil || len(deliveries) != len(bundleClusters) {
		return fmt.Sprintf("there are %d deliveries: %v", len(deliveries), err)
	}
	for _, delivery := range deliveries {
		told, acknowledged := delivery.Spec.Authority, delivery.Status.Authority
		switch {
		case told == nil || !slices.Equal(told.Generations, []int64{generation}) || certificatecontent.GenerationOf(delivery.Spec.Content) != generation:
			return fmt.Sprintf("delivery %s is told %+v, with issuance %s", delivery.Name, told, delivery.Spec.Content)
		case acknowledged == nil || acknowledged.Generation != delivery.Generation || acknowledged.Issuer != generation || acknowledged.AnchorHash != told.AnchorHash:
			return fmt.Sprintf("delivery %s acknowledges %+v", delivery.Name, acknowledged)
		}
		if why := isNotReadyNow(delivery.Status.Conditions, delivery.Generation); why != "" {
			return fmt.Sprintf("delivery %s %s", delivery.Name, why)
		}
	}
	return ""
}

// authoritiesOf are the Secrets beside a bundle for its authorities, those with the names of clusters included.
func (w *bundleEnv) authoritiesOf(name string) (names []string) {
	list := &corev1.SecretList{}
	if err := w.management.List(context.Background(), list, client.InNamespace("default"), client.MatchingLabels{metav1alpha1.LabelAuthority: name}); err != nil {
		return []string{wrong + err.Error()}
	}
	for _, secret := range list.Items {
		if strings.HasPrefix(secret.Name, name) {
			names = append(names, secret.Name)
		}
	}
	return names
}
