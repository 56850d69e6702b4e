package certificates

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
)

// TestTrustAnchorsAreInEveryCluster is the life of a bundle without certificates.
func TestTrustAnchorsAreInEveryCluster(t *testing.T) {
	t.Parallel()
	s := newSuite(t, "trust")
	s.createIssuer()
	authority := s.awaitAuthority()
	source := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: customer, Name: "trust-source"}, Data: map[string]string{"ca.crt": string(authority)}}
	must(t, env.Admin.Create(t.Context(), source))
	place := certificatesv1alpha1.Placement{Namespaces: []string{s.name}}
	bundle := s.create(&certificatesv1alpha1.CertificateBundle{
		ObjectMeta: metav1.ObjectMeta{Namespace: customer, Name: s.name},
		Spec: certificatesv1alpha1.CertificateBundleSpec{
			PolicySpec: metav1alpha1.PolicySpec{ClusterSelector: &metav1.LabelSelector{}},
			Mode:       certificatesv1alpha1.ModeTrustOnly,
			Trust: &certificatesv1alpha1.Trust{
				Sources: []certificatesv1alpha1.TrustSource{{Kind: "ConfigMap", Name: source.Name}, {Kind: "Secret", Name: s.name + "-authority", Key: "tls.crt"}},
				Targets: []certificatesv1alpha1.TrustTarget{
					{Placement: place, Kind: "ConfigMap", Name: "anchors"},
					{Placement: place, Kind: "Secret", Name: "anchors", Key: "bundle.pem"},
					{Kind: "ClusterTrustBundle", Name: "daytwo-anchors"},
				},
			},
		},
	})
	s.awaitReady(bundle)
	s.awaitCondition(bundle, certificatesv1alpha1.ConditionTrustDistributed, metav1.ConditionTrue, certificatesv1alpha1.ReasonDistributed)
	if anchors := bundle.Status.Anchors; anchors == nil || anchors.Count != 1 || anchors.Expires == nil {
		t.Errorf("the status tells of %+v; both sources have the same certificate", anchors)
	}
	for _, cluster := range clusters() {
		s.awaitAnchors(cluster, authority)
		secret := s.awaitSecret(cluster, "anchors", anySecret)
		if !certificateIn(t, secret.Data["bundle.pem"]).Equal(certificateIn(t, authority)) {
			t.Errorf("the Secret in %s has other anchors", cluster)
		}
	}

	// A source that cannot be used changes nothing in any cluster.
	key := &corev1.Secret{}
	must(t, env.Admin.Get(t.Context(), client.ObjectKey{Namespace: customer, Name: s.name + "-authority"}, key))
	source.Data["ca.crt"] = string(key.Data["tls.key"])
	must(t, env.Admin.Update(t.Context(), source))
	stalled := s.awaitCondition(bundle, metav1alpha1.ConditionStalled, metav1.ConditionTrue, certificatesv1alpha1.ReasonTrustInvalid)
	if !strings.Contains(stalled.Message, "trust-source") || !strings.Contains(stalled.Message, "private key") {
		t.Errorf("it says %q", stalled.Message)
	}
	s.awaitAnchors("workload-1", authority)

	// Another authority beside the first one.
	other := newSuite(t, "trust-other")
	other.createIssuer()
	second := other.awaitAuthority()
	source.Data["ca.crt"] = string(second)
	must(t, env.Admin.Update(t.Context(), source))
	s.awaitReady(bundle)
	for _, cluster := range clusters() {
		s.awaitAnchors(cluster, authority, second)
	}
}

// awaitAuthority waits for the certificate of the test's authority.
func (s *suite) awaitAuthority() []byte {
	s.Helper()
	secret := &corev1.Secret{}
	expect.Eventually(s, "the authority is issued", func(ctx context.Context) error {
		return env.Admin.Get(ctx, client.ObjectKey{Namespace: customer, Name: s.name + "-authority"}, secret)
	})
	return secret.Data["tls.crt"]
}

// awaitAnchors waits until a cluster has these anchors in its ConfigMap, and no others.
func (s *suite) awaitAnchors(cluster string, anchors ...[]byte) {
	s.Helper()
	expect.Eventually(s, "the anchors in "+cluster, func(ctx context.Context) error {
		config := &corev1.ConfigMap{}
		if err := s.workload(cluster).Get(ctx, client.ObjectKey{Namespace: s.name, Name: "anchors"}, config); err != nil {
			return err
		}
		text := config.Data["ca.crt"]
		if count := strings.Count(text, "BEGIN CERTIFICATE"); count != len(anchors) {
			return fmt.Errorf("there are %d", count)
		}
		for _, anchor := range anchors {
			if !strings.Contains(text, strings.TrimSpace(string(anchor))) {
				return fmt.Errorf("one is missing")
			}
		}
		return nil
	})
}
