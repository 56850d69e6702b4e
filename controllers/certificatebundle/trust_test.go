package certificatebundle

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/x509roots/fallback/bundle"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/certificatecontent"
	"github.com/daytwo-dev/daytwo/controllers/internal/issuance"
	"github.com/daytwo-dev/daytwo/controllers/internal/issuance/issuancetest"
)

func configMap(name string, data map[string]string) client.Object {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: data}
}

func mustReadTrust(t *testing.T, r *Reconciler, bundle *certificatesv1alpha1.CertificateBundle) *certificatecontent.Trust {
	t.Helper()
	trust, stall, err := r.readTrust(t.Context(), bundle, now)
	if err != nil || stall != nil {
		t.Fatalf("%+v, %v", stall, err)
	}
	return trust
}

func TestAnchorsOfAllSourcesAreOneSet(t *testing.T) {
	first, second := issuancetest.Root(t, "first"), issuancetest.Root(t, "second", issuancetest.Valid(-hour, hour))
	binary := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "binary"}, BinaryData: map[string][]byte{"ca.crt": second.PEM()}}
	r := reading(
		configMap("roots", map[string]string{"ca.crt": "# our own\n" + string(first.PEM())}),
		secret("more", map[string][]byte{"ca.crt": first.PEM(second)}), // There once more, without a line break at the end.
		binary,
	)
	both := mustReadTrust(t, r, newBundle(trusting(source("ConfigMap", "roots"), source("Secret", "more"), source("ConfigMap", "binary"))))
	if both.Summary.Count != 2 || len(both.Summary.Hash) != 16 || !both.Summary.Expires.Time.Equal(second.NotAfter) || len(both.Targets) != 1 {
		t.Errorf("got %+v", both.Summary)
	}
	if other := mustReadTrust(t, r, newBundle(trusting(source("ConfigMap", "binary"), source("ConfigMap", "roots")))); other.PEM != both.PEM {
		t.Error("another order gives another text")
	}
}

func TestABundleWithoutTrustReadsNone(t *testing.T) {
	if trust := mustReadTrust(t, reading(), newBundle()); trust != nil {
		t.Errorf("got %+v", trust)
	}
}

func TestASourceThatHasExpiredIsLeftOutAndNamed(t *testing.T) {
	r := reading(configMap("old", map[string]string{"ca.crt": string(expired(t, "old root").PEM())}), configMap("roots", map[string]string{"ca.crt": string(issuancetest.Root(t, "root").PEM())}))
	trust := mustReadTrust(t, r, newBundle(trusting(source("ConfigMap", "old"), source("ConfigMap", "roots"))))
	want := "old root expired at " + now.Add(-hour).Format(time.RFC3339)
	if trust.Summary.Count != 1 || len(trust.Summary.LeftOut) != 1 || trust.Summary.LeftOut[0] != want {
		t.Errorf("got %+v", trust.Summary)
	}
}

func TestASourceThatCannotBeUsedIsNamed(t *testing.T) {
	root := issuancetest.Root(t, "root")
	usable := configMap("roots", map[string]string{"ca.crt": string(root.PEM())})
	key := root.KeyPEM(t)
	for name, test := range map[string]struct {
		there  client.Object
		reason string
		hints  []string
	}{
		"no ConfigMap":  {reason: metav1alpha1.ReasonReferenceNotFound, hints: []string{"ConfigMap acme/more", "spec.trust.sources[1]", "create it"}},
		"no key":        {there: configMap("more", map[string]string{"other": ""}), reason: metav1alpha1.ReasonReferenceNotFound, hints: []string{"spec.trust.sources[1]", "ConfigMap acme/more has no key ca.crt", "name another one"}},
		"a private key": {there: configMap("more", map[string]string{"ca.crt": string(root.PEM()) + string(key)}), reason: certificatesv1alpha1.ReasonTrustInvalid, hints: []string{"spec.trust.sources[1] (ConfigMap more, key ca.crt)", "private key"}},
		"a leaf":        {there: configMap("more", map[string]string{"ca.crt": string(root.Leaf(t, "www.example.com").PEM())}), reason: certificatesv1alpha1.ReasonTrustInvalid, hints: []string{"spec.trust.sources[1] (ConfigMap more, key ca.crt)", `"www.example.com", is no CA`}},
		"one cut off":   {there: configMap("more", map[string]string{"ca.crt": string(root.PEM()[:200])}), reason: certificatesv1alpha1.ReasonTrustInvalid, hints: []string{"spec.trust.sources[1] (ConfigMap more, key ca.crt)", "cut off"}},
		"no certificate, though another source has some": {
			there: configMap("more", map[string]string{"ca.crt": "to be done"}), reason: certificatesv1alpha1.ReasonTrustInvalid, hints: []string{"spec.trust.sources[1] (ConfigMap more, key ca.crt)", "no certificate"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := reading(usable)
			if test.there != nil {
				r = reading(usable, test.there)
			}
			trust, stall, err := r.readTrust(t.Context(), newBundle(trusting(source("ConfigMap", "roots"), source("ConfigMap", "more"))), now)
			if err != nil || stall == nil || trust != nil || stall.Reason != test.reason {
				t.Fatalf("got %+v, %v", stall, err)
			}
			for _, hint := range test.hints {
				if !strings.Contains(stall.Message, hint) {
					t.Errorf("%q is not in %q", hint, stall.Message)
				}
			}
			if strings.Contains(stall.Message, strings.Split(string(key), "\n")[1]) {
				t.Errorf("the key is told: %s", stall.Message)
			}
		})
	}
}

func TestAMissingSecretKeyIsNamed(t *testing.T) {
	_, stall, err := reading(secret("more", nil)).readTrust(t.Context(), newBundle(trusting(source("Secret", "more"))), now)
	if err != nil || stall == nil || !strings.Contains(stall.Message, "Secret acme/more has no key ca.crt") {
		t.Errorf("got %+v, %v", stall, err)
	}
}

func TestSourcesThatHaveAllExpiredAreRefused(t *testing.T) {
	r := reading(configMap("old", map[string]string{"ca.crt": string(expired(t, "old root").PEM())}))
	_, stall, err := r.readTrust(t.Context(), newBundle(trusting(source("ConfigMap", "old"))), now)
	if err != nil || stall == nil || stall.Reason != certificatesv1alpha1.ReasonTrustInvalid || !strings.Contains(stall.Message, "add one that is valid") {
		t.Errorf("got %+v, %v", stall, err)
	}
}

func TestThePublicAuthoritiesAreMozillas(t *testing.T) {
	unconditional := 0
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			unconditional++
		}
	}
	anchors, err := issuance.Anchors([]byte(publicAuthorities()), now)
	if err != nil {
		t.Fatal(err)
	}
	if got := len(anchors.Anchors) + len(anchors.Expired); got != unconditional || len(anchors.Anchors) <= 100 {
		t.Errorf("%d are valid and %d have expired, of %d", len(anchors.Anchors), len(anchors.Expired), unconditional)
	}
	trust := mustReadTrust(t, reading(), newBundle(func(b *certificatesv1alpha1.CertificateBundle) {
		b.Spec.Trust = &certificatesv1alpha1.Trust{DefaultCAs: true}
	}))
	if int(trust.Summary.Count) != len(anchors.Anchors) || trust.PEM != string(anchors.PEM) {
		t.Errorf("the bundle has %d", trust.Summary.Count)
	}
}

func TestPublicAuthoritiesComeBesideSources(t *testing.T) {
	r := reading(configMap("roots", map[string]string{"ca.crt": string(issuancetest.Root(t, "root").PEM())}))
	own := newBundle(trusting(source("ConfigMap", "roots")))
	alone := mustReadTrust(t, r, own)
	own.Spec.Trust.DefaultCAs = true
	if both := mustReadTrust(t, r, own); both.Summary.Count <= 100 || !strings.Contains(both.PEM, strings.TrimSpace(alone.PEM)) {
		t.Errorf("got %d anchors", both.Summary.Count)
	}
}

func TestAStatusNamesTenThatAreLeftOut(t *testing.T) {
	for count, want := range map[int]int{0: 0, 10: 10, 11: 10, 40: 10} {
		anchors := issuance.Bundle{Hash: strings.Repeat("a", 64)}
		for i := range count {
			anchors.Expired = append(anchors.Expired, issuance.Anchor{Name: fmt.Sprint("root ", i), NotAfter: now})
		}
		got := summaryOf(anchors, time.Time{}).LeftOut
		if len(got) != want {
			t.Errorf("of %d, %d are told", count, len(got))
		}
		if rest := fmt.Sprintf("and %d more that have expired", count-9); count > 10 && got[9] != rest {
			t.Errorf("of %d, the last is %q, not %q", count, got[9], rest)
		}
	}
}
