package certificates

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
)

// authorityBundle is one with an authority of its own, whose anchors are in the ConfigMap trust.
func (s *suite) authorityBundle(clusters ...string) *certificatesv1alpha1.CertificateBundle {
	bundle := s.bundle(clusters...)
	bundle.Spec.IssuerRef, bundle.Spec.CA = nil, &certificatesv1alpha1.ManagedAuthority{}
	bundle.Spec.Certificate.Usages = []certificatesv1alpha1.KeyUsage{"digital signature", "server auth", "client auth"}
	bundle.Spec.Trust = &certificatesv1alpha1.Trust{Targets: []certificatesv1alpha1.TrustTarget{{
		Placement: certificatesv1alpha1.Placement{Namespaces: []string{s.name}}, Kind: "ConfigMap", Name: "trust",
	}}}
	bundle.Spec.Rotation = &certificatesv1alpha1.RotationSpec{
		TrustPropagation: metav1.Duration{Duration: propagation}, MinOverlap: metav1.Duration{Duration: propagation},
	}
	return bundle
}

// propagation is how long workloads of these tests take to load what is stored at most.
const propagation = 4 * time.Second

func (s *suite) rotate(bundle *certificatesv1alpha1.CertificateBundle, token string) {
	s.Helper()
	s.change(bundle, func(b *certificatesv1alpha1.CertificateBundle) { b.Spec.Rotation.CA = token })
}

// awaitRotation waits until a rotation tells what it is to tell.
func (s *suite) awaitRotation(bundle *certificatesv1alpha1.CertificateBundle, what string, is func(*certificatesv1alpha1.RotationStatus) bool) {
	s.Helper()
	expect.Eventually(s, "the rotation "+what, func(ctx context.Context) error {
		if err := env.Admin.Get(ctx, client.ObjectKeyFromObject(bundle), bundle); err != nil {
			return err
		}
		if told := bundle.Status.Rotation; told == nil || !is(told) {
			return fmt.Errorf("it is %+v, %s", told, expect.Describe(bundle.Status.Conditions))
		}
		return nil
	})
}

// ended with an authority, as the only one.
func ended(generation int64) func(*certificatesv1alpha1.RotationStatus) bool {
	return func(told *certificatesv1alpha1.RotationStatus) bool {
		return told.Phase == certificatesv1alpha1.RotationIdle && told.Current.Generation == generation && told.Next.Generation == 0
	}
}

// TestAnAuthorityIsReplacedAndNoHandshakeFails has servers and clients in three clusters that trust each other, and load what is
// stored in their cluster some seconds late.
func TestAnAuthorityIsReplacedAndNoHandshakeFails(t *testing.T) {
	t.Parallel()
	s := newSuite(t, "rotated")
	bundle := s.create(s.authorityBundle(clusters()...))
	s.awaitReady(bundle)
	first := s.awaitSecret("workload-1", "ingress", anySecret)
	s.checkAnchors(clusters(), 1)

	peers := s.startPeers(clusters())
	s.withManager(func() {
		s.rotate(bundle, "first")
		s.awaitRotation(bundle, "ends with authority 2", ended(2))
		s.checkPhases(bundle)
	})
	s.awaitReady(bundle)
	second := s.awaitSecret("workload-1", "ingress", differs(first))
	for _, cluster := range clusters() {
		leafOf(t, s.awaitSecret(cluster, "ingress", anySecret))
	}
	s.checkAnchors(clusters(), 1)
	if issuer := certificateIn(t, second.Data["tls.crt"]).Issuer.CommonName; !strings.HasSuffix(issuer, " 2") {
		t.Errorf("the certificate is from %q", issuer)
	}
	if made := peers.end(); made == 0 {
		t.Error("there was no handshake, so nothing is shown here")
	}
	s.checkRetired(1)
	t.Run("a cluster that does not acknowledge holds the next step up, and is named", func(t *testing.T) { s.with(t).testBlocked(bundle) })
	t.Run("a rotation that is rolled back ends with the authority that was there", func(t *testing.T) { s.with(t).testRollback(bundle) })
	t.Run("an emergency waits for the provider, and for nobody else", func(t *testing.T) { s.with(t).testEmergency(bundle) })
}

// checkAnchors counts the anchors in the clusters, which are the same everywhere.
func (s *suite) checkAnchors(clusters []string, count int) {
	s.Helper()
	seen := map[string]bool{}
	for _, cluster := range clusters {
		text, err := s.trust(s.Context(), cluster)
		must(s, err)
		if got := strings.Count(text, "BEGIN CERTIFICATE"); got != count {
			s.Errorf("%s trusts %d anchors, not %d", cluster, got, count)
		}
		seen[text] = true
	}
	if len(seen) != 1 {
		s.Errorf("the clusters trust %d different sets of anchors", len(seen))
	}
}

// trust is what the ConfigMap of the test's bundle holds in a cluster.
func (s *suite) trust(ctx context.Context, cluster string) (string, error) {
	workload, err := env.Workload(cluster)
	if err != nil {
		return "", err
	}
	found := &corev1.ConfigMap{}
	err = workload.Get(ctx, client.ObjectKey{Namespace: s.name, Name: "trust"}, found)
	return found.Data["ca.crt"], err
}

// checkRetired waits until an authority is gone, with its key and its Issuer.
func (s *suite) checkRetired(generation int) {
	s.Helper()
	key := client.ObjectKey{Namespace: customer, Name: fmt.Sprintf("%s-ca-%d", s.name, generation)}
	s.awaitGone("the key of the former authority", func(ctx context.Context) error { return env.Admin.Get(ctx, key, &corev1.Secret{}) })
	issuer := &unstructured.Unstructured{}
	issuer.SetGroupVersionKind(schema.GroupVersionKind{Group: "cert-manager.io", Version: "v1", Kind: "Issuer"})
	s.awaitGone("the Issuer of the former authority", func(ctx context.Context) error { return env.Admin.Get(ctx, key, issuer) })
}

// checkPhases looks for the events of all phases, in their order.
func (s *suite) checkPhases(bundle *certificatesv1alpha1.CertificateBundle) {
	s.Helper()
	expect.Eventually(s, "an event tells of each phase", func(ctx context.Context) error {
		told, err := s.eventsOf(ctx, bundle)
		if err != nil {
			return err
		}
		for _, phase := range []string{"Preparing", "Prepared", "Switching", "Switched", "Completing", "Idle"} {
			if !slices.Contains(told, "Rotation"+phase) {
				return fmt.Errorf("none tells of %s: %v", phase, told)
			}
		}
		return nil
	})
}

// eventsOf are the reasons of the events of a bundle.
func (s *suite) eventsOf(ctx context.Context, bundle *certificatesv1alpha1.CertificateBundle) (reasons []string, err error) {
	list := &eventsv1.EventList{}
	err = env.Admin.List(ctx, list, client.InNamespace(customer))
	for _, one := range list.Items {
		if one.Regarding.UID == bundle.UID {
			reasons = append(reasons, one.Reason)
		}
	}
	return reasons, err
}

// testBlocked holds the delivery in one cluster back.
func (s *suite) testBlocked(bundle *certificatesv1alpha1.CertificateBundle) {
	delivery, err := s.delivery(s.Context(), bundle, "workload-3")
	must(s, err)
	annotate := func(value string) {
		s.Helper()
		patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%s}}}`, metav1alpha1.AnnotationSuspendUntil, value)
		must(s, env.Admin.Patch(s.Context(), delivery, client.RawPatch("application/merge-patch+json", []byte(patch))))
	}
	annotate(fmt.Sprintf("%q", time.Now().Add(time.Hour).UTC().Format(time.RFC3339)))
	s.rotate(bundle, "blocked")
	s.awaitRotation(bundle, "waits for workload-3", func(told *certificatesv1alpha1.RotationStatus) bool {
		return told.Phase == certificatesv1alpha1.RotationPreparing && len(told.BlockedBy) == 1 && slices.Equal(told.BlockedBy[0].Clusters.Names, []string{"workload-3"})
	})
	told := s.awaitCondition(bundle, certificatesv1alpha1.ConditionCARotating, metav1.ConditionTrue, "Preparing")
	if !strings.Contains(told.Message, "1 cluster (workload-3)") {
		s.Errorf("people are told %q", told.Message)
	}
	s.checkAnchorsIn("workload-3", 1)
	annotate("null")
	s.awaitRotation(bundle, "ends with authority 3", ended(3))
}

func (s *suite) checkAnchorsIn(cluster string, count int) {
	s.Helper()
	s.checkAnchors([]string{cluster}, count)
}

// testRollback rolls a rotation back once all certificates are replaced. Before, a cluster loses its anchors for a moment.
func (s *suite) testRollback(bundle *certificatesv1alpha1.CertificateBundle) {
	s.change(bundle, func(b *certificatesv1alpha1.CertificateBundle) {
		b.Spec.Rotation.CA, b.Spec.Rotation.MinOverlap = "rolled-back", metav1.Duration{Duration: time.Hour}
	})
	switched := func(told *certificatesv1alpha1.RotationStatus) bool {
		return told.Phase == certificatesv1alpha1.RotationSwitched
	}
	s.awaitRotation(bundle, "has replaced all certificates", switched)
	// A cluster that is restored from a backup has other anchors.
	must(s, s.workload("workload-2").Delete(s.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.name, Name: "trust"}}))
	s.awaitRotation(bundle, "goes back, until the cluster trusts both again", func(told *certificatesv1alpha1.RotationStatus) bool {
		return told.Phase == certificatesv1alpha1.RotationPreparing && len(told.BlockedBy) == 1 && slices.Equal(told.BlockedBy[0].Clusters.Names, []string{"workload-2"})
	})
	s.checkAnchorsIn("workload-2", 2)
	s.awaitRotation(bundle, "has replaced all certificates again", switched)
	s.change(bundle, func(b *certificatesv1alpha1.CertificateBundle) {
		b.Spec.Rotation.Rollback, b.Spec.Rotation.MinOverlap = b.Status.Rotation.Next.Generation, metav1.Duration{Duration: propagation}
	})
	s.awaitRotation(bundle, "ends with authority 3", ended(3))
	s.awaitReady(bundle)
	for _, cluster := range clusters() {
		leafOf(s.T, s.awaitSecret(cluster, "ingress", anySecret))
	}
	s.checkAnchors(clusters(), 1)
}

// testEmergency removes the old anchor before the overlap, which would take an hour, has passed.
func (s *suite) testEmergency(bundle *certificatesv1alpha1.CertificateBundle) {
	s.change(bundle, func(b *certificatesv1alpha1.CertificateBundle) {
		b.Spec.Rotation.CA, b.Spec.Rotation.MinOverlap, b.Spec.Rotation.EmergencyReason = "stolen", metav1.Duration{Duration: time.Hour}, "the key was stolen"
	})
	next := ""
	expect.Eventually(s, "people are told what the emergency breaks, and how it is confirmed", func(ctx context.Context) error {
		if err := env.Admin.Get(ctx, client.ObjectKeyFromObject(bundle), bundle); err != nil {
			return err
		}
		next = fmt.Sprint(bundle.Status.Rotation.Next.Generation)
		told := meta.FindStatusCondition(bundle.Status.Conditions, certificatesv1alpha1.ConditionCARotating)
		if told == nil || !strings.Contains(told.Message, "The provider confirms it with \""+next+"\"") {
			return fmt.Errorf("they are told %+v", told)
		}
		return nil
	})
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, metav1alpha1.AnnotationConfirmEmergency, next)
	must(s, env.Admin.Patch(s.Context(), bundle, client.RawPatch("application/merge-patch+json", []byte(patch))))
	s.awaitRotation(bundle, "ends with the authority of the emergency", ended(bundle.Status.Rotation.Next.Generation))
	s.awaitReady(bundle)
	s.checkAnchors(clusters(), 1)
}
