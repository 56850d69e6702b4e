package authority

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func newBundle() *certificatesv1alpha1.CertificateBundle {
	bundle := &certificatesv1alpha1.CertificateBundle{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "web", UID: "bundle-1"}}
	bundle.Spec.CA = &certificatesv1alpha1.ManagedAuthority{}
	return bundle
}

// newStore is of an API server with some objects.
func newStore(there ...client.Object) *Store {
	c := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(there...).WithIndex(&corev1.Secret{}, index, func(object client.Object) []string {
		return []string{object.GetLabels()[metav1alpha1.LabelAuthority]}
	}).Build()
	return &Store{Client: c, APIReader: c}
}

func TestAnAuthoritySignsAndIsToldApartByItsAnchor(t *testing.T) {
	for _, algorithm := range []string{"", "ECDSA", "RSA"} {
		certificate, key, err := newRoot(&certificatesv1alpha1.ManagedAuthority{Algorithm: algorithm, Duration: &metav1.Duration{Duration: 48 * time.Hour}}, "acme/web 3", now)
		if err != nil {
			t.Fatal(err)
		}
		pair, err := tls.X509KeyPair(certificate, key)
		if err != nil {
			t.Fatal(err)
		}
		root := pair.Leaf
		if !root.IsCA || root.KeyUsage&x509.KeyUsageCertSign == 0 || root.Subject.CommonName != "acme/web 3" || !root.MaxPathLenZero {
			t.Errorf("%s: it is %+v", algorithm, root.Subject)
		}
		if !root.NotAfter.Equal(now.Add(48*time.Hour)) || !root.NotBefore.Equal(now.Add(-clockSkew)) {
			t.Errorf("%s: it is valid from %s to %s", algorithm, root.NotBefore, root.NotAfter)
		}
		parsed, err := parseRoot(3, certificate)
		if err != nil || parsed.Anchor != AnchorOf(root.Raw) || parsed.PEM != string(certificate) {
			t.Errorf("%s: it is read as %+v, %v", algorithm, parsed, err)
		}
		if err := Check(certificate, parsed.Anchor); err != nil {
			t.Errorf("%s: %s", algorithm, err)
		}
	}
}

func TestWhatIsNoAuthorityIsRefused(t *testing.T) {
	certificate, key, err := newRoot(&certificatesv1alpha1.ManagedAuthority{}, "web", now)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"nothing": nil, "text": []byte("no PEM"), "a key": key, "two certificates": bytes.Repeat(certificate, 2)} {
		if root, err := parseRoot(1, text); err == nil {
			t.Errorf("%s is taken for %+v", name, root)
		}
	}
	for name, text := range map[string][]byte{"nothing": nil, "two": bytes.Repeat(certificate, 2)} {
		if err := Check(text, AnchorOf(nil)); !errors.Is(err, ErrOther) {
			t.Errorf("%s passes as an authority: %v", name, err)
		}
	}
}

func TestAGenerationIsMadeOnce(t *testing.T) {
	s, bundle := newStore(), newBundle()
	first, err := s.Make(t.Context(), bundle, 1, now)
	if err != nil {
		t.Fatal(err)
	}
	again, err := s.Make(t.Context(), bundle, 1, now.Add(time.Hour))
	if err != nil || again.Anchor != first.Anchor {
		t.Errorf("made again it is %+v, %v", again, err)
	}
	second, err := s.Make(t.Context(), bundle, 2, now)
	if err != nil || second.Anchor == first.Anchor {
		t.Errorf("the next one is %+v, %v", second, err)
	}
	found, err := s.List(t.Context(), bundle, now)
	if err != nil || len(found) != 2 || found[0].Anchor != first.Anchor || found[1].Anchor != second.Anchor {
		t.Errorf("there are %+v, %v", found, err)
	}
	secret := &corev1.Secret{}
	if err := s.Client.Get(t.Context(), client.ObjectKey{Namespace: "acme", Name: "web-ca-1"}, secret); err != nil || secret.Immutable == nil || !*secret.Immutable {
		t.Errorf("the Secret is %+v, %v", secret.ObjectMeta, err)
	}
}

// A cache that does not show yet what was made would have it taken for lost.
func TestWhatWasJustMadeIsThereBeforeTheCacheShowsIt(t *testing.T) {
	s, bundle := newStore(), newBundle()
	made, err := s.Make(t.Context(), bundle, 1, now)
	if err != nil {
		t.Fatal(err)
	}
	s.Client = newStore().Client
	if found, err := s.List(t.Context(), bundle, now.Add(cacheLag)); err != nil || len(found) != 1 || found[0].Anchor != made.Anchor {
		t.Errorf("there are %+v, %v", found, err)
	}
	if found, err := s.List(t.Context(), bundle, now.Add(cacheLag+time.Second)); err != nil || len(found) != 0 {
		t.Errorf("much later there are %+v, %v", found, err)
	}
}

func TestASecretOfSomebodyElseIsNoAuthority(t *testing.T) {
	certificate, key, err := newRoot(&certificatesv1alpha1.ManagedAuthority{}, "web", now)
	if err != nil {
		t.Fatal(err)
	}
	foreign := rootSecret(newBundle(), 1, certificate, key)
	foreign.Labels = nil
	s, bundle := newStore(foreign), newBundle()
	if found, err := s.List(t.Context(), bundle, now); err != nil || len(found) != 0 {
		t.Errorf("there are %+v, %v", found, err)
	}
	if _, err := s.Make(t.Context(), bundle, 1, now); err == nil || !strings.Contains(err.Error(), "Secret acme/web-ca-1 is in the way of an authority") {
		t.Errorf("it is made: %v", err)
	}
	broken := rootSecret(bundle, 1, []byte("no PEM"), key)
	if _, err := newStore(broken).List(t.Context(), bundle, now); err == nil || !strings.Contains(err.Error(), "Secret acme/web-ca-1 is no authority") {
		t.Errorf("a broken one is told as %v", err)
	}
}

// A bundle that is restored from a backup has another UID.
func TestARestoredBundleFindsItsAuthority(t *testing.T) {
	s, bundle := newStore(), newBundle()
	made, err := s.Make(t.Context(), bundle, 1, now)
	if err != nil {
		t.Fatal(err)
	}
	restored := newBundle()
	restored.UID = "bundle-2"
	found, err := (&Store{Client: s.Client, APIReader: s.APIReader}).List(t.Context(), restored, now)
	if err != nil || len(found) != 1 || found[0].Anchor != made.Anchor {
		t.Errorf("there are %+v, %v", found, err)
	}
}

// Another process may have made it, or a person put it back.
func TestANeededAuthorityIsReadPastTheCache(t *testing.T) {
	s, bundle := newStore(), newBundle()
	made, err := s.Make(t.Context(), bundle, 1, now)
	if err != nil {
		t.Fatal(err)
	}
	behind := &Store{Client: newStore().Client, APIReader: s.APIReader}
	if found, err := behind.List(t.Context(), bundle, now, 1, 2); err != nil || len(found) != 1 || found[0].Anchor != made.Anchor {
		t.Errorf("there are %+v, %v", found, err)
	}
}

func TestAnIssuerOfSomebodyElseStays(t *testing.T) {
	foreign := newIssuer(newBundle(), 1)
	foreign.SetLabels(nil)
	s := newStore(foreign)
	if err := s.Retire(t.Context(), newBundle(), 1); err != nil {
		t.Fatal(err)
	}
	if err := s.Client.Get(t.Context(), client.ObjectKeyFromObject(foreign), foreign.DeepCopy()); err != nil {
		t.Error(err)
	}
}

func TestNothingOfABundleIsLeft(t *testing.T) {
	other := newBundle()
	other.Name, other.UID = "api", "bundle-2"
	issuers := []client.Object{newIssuer(newBundle(), 1), newIssuer(other, 1)}
	s, bundle := newStore(issuers...), newBundle()
	for _, one := range []*certificatesv1alpha1.CertificateBundle{bundle, other} {
		if _, err := s.Make(t.Context(), one, 1, now); err != nil {
			t.Fatal(err)
		}
		if err := s.WriteMembers(t.Context(), one, "abc", []byte("members")); err != nil {
			t.Fatal(err)
		}
	}
	if read, err := s.ReadMembers(t.Context(), bundle, "abc"); err != nil || string(read) != "members" {
		t.Errorf("the members are %q, %v", read, err)
	}
	if read, err := s.ReadMembers(t.Context(), bundle, "other"); err != nil || read != nil {
		t.Errorf("members that are not there are %q, %v", read, err)
	}
	if err := s.PruneMembers(t.Context(), bundle, "abc"); err != nil {
		t.Fatal(err)
	}
	if got, want := secretNames(t, s), []string{"api-ca-1", "api-ca-members-abc", "web-ca-1", "web-ca-members-abc"}; !slices.Equal(got, want) {
		t.Errorf("there are %v, not %v", got, want)
	}
	if err := s.PruneMembers(t.Context(), bundle, ""); err != nil {
		t.Fatal(err)
	}
	if got, want := secretNames(t, s), []string{"api-ca-1", "api-ca-members-abc", "web-ca-1"}; !slices.Equal(got, want) {
		t.Errorf("after the rotation there are %v, not %v", got, want)
	}
	if err := s.RemoveAll(t.Context(), bundle); err != nil {
		t.Fatal(err)
	}
	if got, want := secretNames(t, s), []string{"api-ca-1", "api-ca-members-abc"}; !slices.Equal(got, want) {
		t.Errorf("in the end there are %v, not %v", got, want)
	}
	for name, gone := range map[string]bool{"web-ca-1": true, "api-ca-1": false} {
		issuer := &unstructured.Unstructured{}
		issuer.SetGroupVersionKind(issuerKind)
		if err := s.Client.Get(t.Context(), client.ObjectKey{Namespace: "acme", Name: name}, issuer); apierrors.IsNotFound(err) != gone {
			t.Errorf("Issuer %s: %v", name, err)
		}
	}
}

func secretNames(t *testing.T, s *Store) (names []string) {
	t.Helper()
	list := &corev1.SecretList{}
	if err := s.APIReader.List(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	for _, one := range list.Items {
		names = append(names, one.Name)
	}
	slices.Sort(names)
	return names
}

func TestGenerationsAreInTheNames(t *testing.T) {
	for name, want := range map[string]int64{
		Name("web", 1): 1, Name("web", 12): 12, "web-ca-0": 0, "web-ca-01": 0, "web-ca-x": 0, "web-ca-": 0, "api-ca-1": 0, membersName("web", "12"): 0,
	} {
		if got := generationOf("web", name); got != want {
			t.Errorf("%s holds generation %d, not %d", name, got, want)
		}
	}
}
