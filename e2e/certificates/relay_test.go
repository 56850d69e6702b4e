package certificates

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
)

// relayBundle is one that answers requests for names below that of the cluster.
func (s *suite) relayBundle(clusters ...string) *certificatesv1alpha1.CertificateBundle {
	return &certificatesv1alpha1.CertificateBundle{
		ObjectMeta: metav1.ObjectMeta{Namespace: customer, Name: s.name},
		Spec: certificatesv1alpha1.CertificateBundleSpec{
			PolicySpec: metav1alpha1.PolicySpec{ClusterNames: clusters},
			Mode:       certificatesv1alpha1.ModeRelay,
			IssuerRef:  &certificatesv1alpha1.IssuerReference{Name: s.name},
			RequestPolicy: &certificatesv1alpha1.RequestPolicy{
				DNSNames:    []string{"*.{{ .Cluster.Name }}.{{ .Cluster.Labels.tier }}.test"},
				MaxDuration: &metav1.Duration{Duration: 24 * time.Hour},
			},
		},
	}
}

// signingRequest is a request for a DNS name, with a key that only the test has.
func (s *suite) signingRequest(name, signer, dnsName string) (*certificatesv1.CertificateSigningRequest, *ecdsa.PrivateKey) {
	s.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(s, err)
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: dnsName}, DNSNames: []string{dnsName}}, key)
	must(s, err)
	return &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: s.name + "-" + name},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}), SignerName: signer,
			Usages: []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageServerAuth}, ExpirationSeconds: ptr.To[int32](7200),
		},
	}, key
}

func (s *suite) signer() string { return "daytwo.dev/" + s.name }

// makeRequest makes a request in a cluster, as somebody there does.
func (s *suite) makeRequest(cluster, name, signer, dnsName string) (*certificatesv1.CertificateSigningRequest, *ecdsa.PrivateKey) {
	s.Helper()
	request, key := s.signingRequest(name, signer, dnsName)
	must(s, s.workload(cluster).Create(s.Context(), request))
	return request, key
}

// awaitRequest waits for what becomes of a request.
func (s *suite) awaitRequest(cluster string, request *certificatesv1.CertificateSigningRequest, is func(*certificatesv1.CertificateSigningRequest) error) *certificatesv1.CertificateSigningRequest {
	s.Helper()
	found := &certificatesv1.CertificateSigningRequest{}
	expect.Eventually(s, fmt.Sprintf("request %s in %s is answered", request.Name, cluster), func(ctx context.Context) error {
		if err := s.workload(cluster).Get(ctx, client.ObjectKeyFromObject(request), found); err != nil {
			return err
		}
		return is(found)
	})
	return found
}

func hasCertificate(request *certificatesv1.CertificateSigningRequest) error {
	if len(request.Status.Certificate) == 0 {
		return fmt.Errorf("it has no certificate: %+v", request.Status.Conditions)
	}
	return nil
}

// has is whether a request has a condition, with these words in its message.
func has(kind certificatesv1.RequestConditionType, words ...string) func(*certificatesv1.CertificateSigningRequest) error {
	return func(request *certificatesv1.CertificateSigningRequest) error {
		for _, condition := range request.Status.Conditions {
			if condition.Type != kind {
				continue
			}
			for _, word := range words {
				if !strings.Contains(condition.Message, word) {
					return fmt.Errorf("%s says %q, without %q", kind, condition.Message, word)
				}
			}
			return nil
		}
		return fmt.Errorf("its conditions are %+v", request.Status.Conditions)
	}
}

// checkAnswer compares what a request got with what it asked for.
func (s *suite) checkAnswer(request *certificatesv1.CertificateSigningRequest, key *ecdsa.PrivateKey, dnsName string) {
	s.Helper()
	leaf := certificateIn(s, request.Status.Certificate)
	authority := &corev1.Secret{}
	must(s, env.Admin.Get(s.Context(), client.ObjectKey{Namespace: customer, Name: s.name + "-authority"}, authority))
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority.Data["tls.crt"])
	if _, err := leaf.Verify(x509.VerifyOptions{Roots: pool, DNSName: dnsName}); err != nil {
		s.Errorf("the certificate for %s: %v", dnsName, err)
	}
	if !key.PublicKey.Equal(leaf.PublicKey) || !slices.Equal(leaf.DNSNames, []string{dnsName}) {
		s.Errorf("the certificate is for %v, and for another key: %t", leaf.DNSNames, !key.PublicKey.Equal(leaf.PublicKey))
	}
	if lifetime := leaf.NotAfter.Sub(leaf.NotBefore); lifetime != 2*time.Hour {
		s.Errorf("it is valid for %s, not for the two hours that were asked for", lifetime)
	}
}

// TestTheKeyOfARequestStaysWhereItIs is the life of a bundle in mode Relay in two clusters.
func TestTheKeyOfARequestStaysWhereItIs(t *testing.T) {
	t.Parallel()
	s := newSuite(t, "relay")
	s.createIssuer()
	foreign, _ := s.makeRequest("workload-1", "foreign", "example.com/relay", "shop.workload-1.gold.test")
	early, earlyKey := s.makeRequest("workload-1", "early", s.signer(), "early.workload-1.gold.test")
	byHand, _ := s.makeRequest("workload-1", "by-hand", s.signer(), "evil.test")
	s.approve("workload-1", byHand)
	bundle := s.create(s.relayBundle("workload-1", "workload-2"))
	s.awaitReady(bundle)
	s.awaitCondition(bundle, certificatesv1alpha1.ConditionRequestsServed, metav1.ConditionTrue, certificatesv1alpha1.ReasonServed)
	s.checkAnswer(s.awaitRequest("workload-1", early, hasCertificate), earlyKey, "early.workload-1.gold.test")

	request, key := s.makeRequest("workload-1", "good", s.signer(), "shop.workload-1.gold.test")
	answered := s.awaitRequest("workload-1", request, hasCertificate)
	s.checkAnswer(answered, key, "shop.workload-1.gold.test")
	must(t, has(certificatesv1.CertificateApproved, "requestPolicy")(answered))

	// The names of one cluster are not those of another.
	elsewhere, _ := s.makeRequest("workload-2", "elsewhere", s.signer(), "shop.workload-1.gold.test")
	denied := s.awaitRequest("workload-2", elsewhere, has(certificatesv1.CertificateDenied, `"shop.workload-1.gold.test"`, "*.workload-2.gold.test", "spec.requestPolicy.dnsNames"))
	if len(denied.Status.Certificate) > 0 {
		t.Error("a request that is denied has a certificate")
	}
	// One that somebody approved by hand is checked as well.
	if failed := s.awaitRequest("workload-1", byHand, has(certificatesv1.CertificateFailed, "spec.requestPolicy.dnsNames")); len(failed.Status.Certificate) > 0 {
		t.Error("a request that the policy does not allow has a certificate")
	}
	unselected, _ := s.makeRequest("workload-3", "unselected", s.signer(), "shop.workload-3.gold.test")
	s.awaitCounts(bundle, "workload-1", 2, 1)
	s.awaitCounts(bundle, "workload-2", 0, 1)

	t.Run("the key is nowhere in etcd", func(t *testing.T) { s.with(t).testKeyIsNowhere(key, answered) })
	t.Run("what nobody asked us for is not touched", func(t *testing.T) {
		for cluster, one := range map[string]*certificatesv1.CertificateSigningRequest{"workload-1": foreign, "workload-3": unselected} {
			now := &certificatesv1.CertificateSigningRequest{}
			must(t, s.workload(cluster).Get(t.Context(), client.ObjectKeyFromObject(one), now))
			if now.ResourceVersion != one.ResourceVersion {
				t.Errorf("the request of another signer, or in a cluster that is not selected, has %+v", now.Status)
			}
		}
	})
	t.Run("a manager that is killed asks for nothing twice", func(t *testing.T) { s.with(t).testRelayRestart(bundle) })
	t.Run("nothing is left in the management cluster", func(t *testing.T) { s.with(t).testRelayDeletion(bundle, request) })
}

// approve approves a request as a person does who may.
func (s *suite) approve(cluster string, request *certificatesv1.CertificateSigningRequest) {
	s.Helper()
	request.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "ByHand"}}
	must(s, s.workload(cluster).SubResource("approval").Update(s.Context(), request))
}

// awaitCounts waits until a delivery tells of so many requests.
func (s *suite) awaitCounts(bundle *certificatesv1alpha1.CertificateBundle, cluster string, issued, denied int32) {
	s.Helper()
	expect.Eventually(s, "the delivery in "+cluster+" tells of its requests", func(ctx context.Context) error {
		delivery, err := s.delivery(ctx, bundle, cluster)
		if err != nil {
			return err
		}
		told := delivery.Status.Requests
		if told == nil || told.Issued != issued || told.Denied != denied || told.Pending != 0 {
			return fmt.Errorf("it tells %+v", told)
		}
		if denied > 0 && (told.LastDenial == nil || !strings.HasPrefix(told.LastDenial.Name, s.name) || !strings.Contains(told.LastDenial.Message, "spec.requestPolicy")) {
			return fmt.Errorf("it tells of the last denial %+v", told.LastDenial)
		}
		return nil
	})
}

// certificateRequests of a bundle in the management cluster.
func (s *suite) certificateRequests(ctx context.Context) []unstructured.Unstructured {
	s.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: "cert-manager.io", Version: "v1", Kind: "CertificateRequestList"})
	must(s, env.Admin.List(ctx, list, client.InNamespace(customer), client.MatchingLabels{metav1alpha1.LabelBundle: s.name}))
	return list.Items
}

func (s *suite) testRelayRestart(bundle *certificatesv1alpha1.CertificateBundle) {
	before := len(s.certificateRequests(s.Context()))
	var request *certificatesv1.CertificateSigningRequest
	var key *ecdsa.PrivateKey
	s.withoutManager(func() {
		request, key = s.makeRequest("workload-1", "while-away", s.signer(), "away.workload-1.gold.test")
	})
	s.checkAnswer(s.awaitRequest("workload-1", request, hasCertificate), key, "away.workload-1.gold.test")
	s.awaitReady(bundle)
	if now := len(s.certificateRequests(s.Context())); now != before+1 {
		s.Errorf("there are %d CertificateRequests, and were %d before one request", now, before)
	}
}

func (s *suite) testRelayDeletion(bundle *certificatesv1alpha1.CertificateBundle, request *certificatesv1.CertificateSigningRequest) {
	must(s, env.Admin.Delete(s.Context(), bundle))
	s.awaitGone("the bundle", func(ctx context.Context) error {
		return env.Admin.Get(ctx, client.ObjectKeyFromObject(bundle), &certificatesv1alpha1.CertificateBundle{})
	})
	expect.Eventually(s, "its CertificateRequests are gone", func(ctx context.Context) error {
		if left := s.certificateRequests(ctx); len(left) > 0 {
			return fmt.Errorf("%d are left", len(left))
		}
		return nil
	})
	s.awaitRequest("workload-1", request, hasCertificate)
}

// testKeyIsNowhere searches etcd for the key, and for things that have to be found in the same way.
func (s *suite) testKeyIsNowhere(key *ecdsa.PrivateKey, answered *certificatesv1.CertificateSigningRequest) {
	stored := s.everythingStored()
	if stored.has(key, s) {
		s.Error("the key is in etcd")
	}
	if !stored.hasPEM(certificateIn(s, answered.Status.Certificate).Raw) {
		s.Error("not even the certificate is found, so nothing is shown here")
	}
	// Another key, which somebody put into the management cluster, is found.
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(s, err)
	der, err := x509.MarshalPKCS8PrivateKey(other)
	must(s, err)
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: customer, Name: s.name + "-decoy"},
		Data:       map[string][]byte{"tls.key": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})},
	}
	must(s, env.Admin.Create(s.Context(), secret))
	if !s.everythingStored().has(other, s) {
		s.Error("a key that is there is not found, so nothing is shown here")
	}
}
