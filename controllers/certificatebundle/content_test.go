package certificatebundle

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/issuance/issuancetest"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy"
)

func secret(name string, data map[string][]byte) client.Object {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: data}
}

func TestPasswordsAreReadOnceForEachKey(t *testing.T) {
	r := reading(secret("stores", map[string][]byte{"one": []byte(password), "two": []byte(password + "2")}))
	bundle := newBundle(keystores(
		certificatesv1alpha1.SecretKey{Key: "tls.pem", Format: certificatesv1alpha1.FormatPEM},
		store(certificatesv1alpha1.FormatJKS, "stores", "one"), store(certificatesv1alpha1.FormatPKCS12, "stores", "one"), store(certificatesv1alpha1.FormatPKCS12, "stores", "two"),
	))
	got, stall, err := r.readPasswords(t.Context(), bundle)
	want := map[string][]byte{"stores/one": []byte(password), "stores/two": []byte(password + "2")}
	if err != nil || stall != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("read %d passwords, %+v, %v", len(got), stall, err)
	}
}

func TestAPasswordThatCannotBeUsedNamesItsPlaceAndIsNotTold(t *testing.T) {
	const field = "spec.targets[0].keys[0].passwordSecretRef"
	for name, test := range map[string]struct {
		format certificatesv1alpha1.KeyFormat
		there  []client.Object
		reason string
		// hints are parts of the message.
		hints []string
	}{
		"no Secret": {
			format: certificatesv1alpha1.FormatJKS, reason: metav1alpha1.ReasonReferenceNotFound, hints: []string{field, "Secret acme/stores", "create it"},
		},
		"no key": {
			format: certificatesv1alpha1.FormatJKS, there: []client.Object{secret("stores", map[string][]byte{"other": []byte(password)})},
			reason: metav1alpha1.ReasonInvalidSpec, hints: []string{field, "Secret acme/stores has no key password", "add it"},
		},
		"one with a line break": {
			format: certificatesv1alpha1.FormatPKCS12, there: []client.Object{secret("stores", map[string][]byte{"password": []byte(password + "\n")})},
			reason: metav1alpha1.ReasonInvalidSpec, hints: []string{field, "the key password of Secret acme/stores", "write it without one"},
		},
		"one that Java does not take": {
			format: certificatesv1alpha1.FormatJKS, there: []client.Object{secret("stores", map[string][]byte{"password": []byte(password + "ü")})},
			reason: metav1alpha1.ReasonInvalidSpec, hints: []string{field, "ASCII", "use letters"},
		},
		"none": {
			format: certificatesv1alpha1.FormatPKCS12, there: []client.Object{secret("stores", map[string][]byte{"password": {}})},
			reason: metav1alpha1.ReasonInvalidSpec, hints: []string{field, "is empty", "put one into the Secret"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, stall, err := reading(test.there...).readPasswords(t.Context(), newBundle(keystores(store(test.format, "stores", "password"))))
			if err != nil || stall == nil || got != nil || stall.Reason != test.reason {
				t.Fatalf("read %d, %+v, %v", len(got), stall, err)
			}
			for _, hint := range test.hints {
				if !strings.Contains(stall.Message, hint) {
					t.Errorf("%q is not in %q", hint, stall.Message)
				}
			}
			if strings.Contains(stall.Message, password) {
				t.Errorf("the password is told: %s", stall.Message)
			}
		})
	}
}

func TestContentIsTheSameTextWheneverItIsRead(t *testing.T) {
	root := issuancetest.Root(t, "root")
	there := []client.Object{secret("stores", map[string][]byte{"password": []byte(password)}), secret("roots", map[string][]byte{"ca.crt": root.PEM()})}
	read := func() (string, certificatesv1alpha1.CertificateBundleStatus) {
		bundle := newBundle(keystores(store(certificatesv1alpha1.FormatJKS, "stores", "password")), trusting(source("Secret", "roots")))
		found, err := reading(there...).Content(t.Context(), bundle, now)
		if err != nil || found.Stall != nil {
			t.Fatalf("%+v, %v", found.Stall, err)
		}
		raw, stall, err := found.Read(t.Context())
		if err != nil || stall != nil {
			t.Fatalf("%+v, %v", stall, err)
		}
		found.SetStatus(bundle)
		return string(raw), bundle.Status
	}
	first, status := read()
	if again, _ := read(); again != first {
		t.Error("another reading gives other bytes")
	}
	if status.Anchors == nil || status.Anchors.Count != 1 || status.Anchors.Expires == nil || !status.Anchors.Expires.Time.Equal(root.NotAfter) {
		t.Errorf("the status tells %+v", status.Anchors)
	}
	if told := fmt.Sprintf("%+v", status); strings.Contains(told, password) {
		t.Errorf("the password is in the status: %s", told)
	}
}

func TestContentThatWasReadBeforeKeepsWhatIsTold(t *testing.T) {
	bundle := newBundle(trusting(source("Secret", "roots")))
	bundle.Status.Anchors = &certificatesv1alpha1.AnchorSummary{Count: 7}
	found, err := reading().Content(t.Context(), bundle, now)
	if err != nil || found.SetStatus == nil {
		t.Fatalf("%+v, %v", found.Stall, err)
	}
	found.SetStatus(bundle)
	if bundle.Status.Anchors == nil || bundle.Status.Anchors.Count != 7 {
		t.Errorf("the status tells %+v", bundle.Status.Anchors)
	}
}

func TestABundleThatIsRefusedIsNotRead(t *testing.T) {
	found, err := reading().Content(t.Context(), newBundle(clusterIssuer("internal")), now)
	if err != nil || found.Read != nil || found.Stall == nil || found.Stall.Reason != certificatesv1alpha1.ReasonIssuerNotAllowed {
		t.Errorf("got %+v, %v", found.Stall, err)
	}
}

// What the API server did not answer may be there.
func TestAnUnansweredReadIsAnErrorAndNoStall(t *testing.T) {
	r := &Reconciler{APIReader: failing{}}
	for name, bundle := range map[string]*certificatesv1alpha1.CertificateBundle{
		"password":  newBundle(keystores(store(certificatesv1alpha1.FormatJKS, "stores", "password"))),
		"Secret":    newBundle(trusting(source("Secret", "roots"))),
		"ConfigMap": newBundle(trusting(source("ConfigMap", "roots"))),
	} {
		if _, stall, err := r.readContent(context.Background(), bundle, now); err == nil || stall != nil {
			t.Errorf("%s: %+v, %v", name, stall, err)
		}
	}
}

func TestReferencesAreThePasswordsAndTheSources(t *testing.T) {
	bundle := newBundle(
		keystores(certificatesv1alpha1.SecretKey{Key: "tls.pem", Format: certificatesv1alpha1.FormatPEM}, store(certificatesv1alpha1.FormatJKS, "stores", "password")),
		trusting(source("ConfigMap", "roots"), source("Secret", "more-roots")),
	)
	want := []policy.Reference{{Kind: "Secret", Name: "stores"}, {Kind: "ConfigMap", Name: "roots"}, {Kind: "Secret", Name: "more-roots"}}
	if got := (&Reconciler{}).References(bundle); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
	if got := (&Reconciler{}).References(newBundle()); len(got) > 0 {
		t.Errorf("a bundle that names nothing refers to %+v", got)
	}
}

// What is compared with a target is written into it: else its policy would write it for ever.
func TestATargetIsCurrentOnceItsSettingsWereWritten(t *testing.T) {
	r, bundle, delivery := &Reconciler{}, newBundle(), delivered("a")
	bundle.Spec.Drift.Additions = metav1alpha1.DriftAdditions("All")
	if r.SettingsCurrent(delivery, bundle) {
		t.Fatal("an empty target is current")
	}
	r.SyncSettings(delivery, bundle)
	if !r.SettingsCurrent(delivery, bundle) || delivery.Spec.Content != "a" || delivery.Spec.Revision != "web-older" {
		t.Errorf("it is %+v", delivery.Spec)
	}
}

// The content is read again when an anchor has expired, and is another one then.
func TestAnAnchorThatExpiresIsLeftOutByItself(t *testing.T) {
	short, long := issuancetest.Root(t, "short", issuancetest.Valid(-time.Hour, time.Hour)), issuancetest.Root(t, "long")
	r := reading(secret("roots", map[string][]byte{"ca.crt": long.PEM(short)}))
	bundle := newBundle(trusting(certificatesv1alpha1.TrustSource{Kind: "Secret", Name: "roots", Key: "ca.crt"}))
	read := func(now time.Time) ([]byte, content) {
		found, err := r.Content(t.Context(), bundle, now)
		if err != nil {
			t.Fatal(err)
		}
		raw, stall, err := found.Read(t.Context())
		if err != nil || stall != nil {
			t.Fatalf("%+v, %v", stall, err)
		}
		return raw, found
	}
	both, before := read(issuancetest.Now)
	_, known := read(issuancetest.Now)
	if before.Version != known.Version || !known.Again.Equal(issuancetest.Now.Add(time.Hour)) {
		t.Errorf("it is looked at again at %s, as version %q", known.Again, known.Version)
	}
	later := issuancetest.Now.Add(time.Hour + time.Second)
	one, after := read(later)
	if after.Version == known.Version || bytes.Equal(both, one) {
		t.Errorf("version %q is the same content: %v", after.Version, bytes.Equal(both, one))
	}
	told := &certificatesv1alpha1.CertificateBundle{}
	if after.SetStatus(told); told.Status.Anchors == nil || told.Status.Anchors.Count != 1 || len(told.Status.Anchors.LeftOut) != 1 {
		t.Errorf("it tells of %+v", told.Status.Anchors)
	}
}
