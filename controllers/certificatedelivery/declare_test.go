package certificatedelivery

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/issuance/issuancetest"
	"github.com/daytwo-dev/daytwo/controllers/internal/target"
)

const hour = time.Hour

var now = issuancetest.Now

// newObserved is a delivery of the issuance web-1 in acme/prod.
func newObserved() *observation {
	o := &observation{Target: &certificatesv1alpha1.CertificateDelivery{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "web-prod", Generation: 2}}}
	o.Target.Spec.Content = "web-1"
	o.Now = now
	return o
}

func stored(kind corev1.SecretType, data map[string][]byte) client.Object {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "web-1"}, Type: kind, Data: data}
}

// unanswered is an API server that answers nothing.
type unanswered struct{ client.Reader }

// Get implements client.Reader.
func (unanswered) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return context.DeadlineExceeded
}

func TestTheIssuanceIsCheckedAgainBeforeItGoesIntoACluster(t *testing.T) {
	root := issuancetest.Root(t, "root")
	w := newWanted(t)
	leaf := func(name string, changes ...issuancetest.Change) map[string][]byte {
		made := root.Leaf(t, name, changes...)
		return map[string][]byte{"tls.crt": made.PEM(), "tls.key": made.KeyPEM(t), "ca.crt": root.PEM()}
	}
	right, wrong, early, late := leaf("prod.example.com"), leaf("other.example.com"),
		leaf("prod.example.com", issuancetest.Valid(5*time.Minute, hour)), leaf("prod.example.com", issuancetest.Valid(-2*hour, -hour))
	stolen := map[string][]byte{"tls.crt": right["tls.crt"], "tls.key": wrong["tls.key"], "ca.crt": right["ca.crt"]}
	issuance, refusal := corev1.SecretType(metav1alpha1.SecretTypeIssuance), certificatesv1alpha1.ReasonCertificateRefused
	for name, test := range map[string]struct {
		there   client.Object
		observe func(*observation)
		reason  string
		hint    string
		// waits: it is looked at again, and no person has to do anything.
		waits bool
	}{
		"it is right":                {there: stored(issuance, right)},
		"of an authority it is told": {there: stored(issuance, right), observe: func(o *observation) { o.Target.Spec.Authority = toldAnchors(t, "former", root) }},
		"one of a removed authority": {there: stored(issuance, right), observe: func(o *observation) {
			o.Target.Spec.Authority = toldAnchors(t, "former")
			o.Status.Certificate = &certificatesv1alpha1.DeliveredCertificate{Issuance: "web-1", NotAfter: metav1.NewTime(now.Add(hour))}
		}},
		"of an authority it is not":   {there: stored(issuance, right), observe: func(o *observation) { o.Target.Spec.Authority = toldAnchors(t, "former") }, reason: refusal, hint: "not told to trust"},
		"it is gone":                  {reason: certificatesv1alpha1.ReasonIssuanceNotFound, hint: "the issuance acme/web-1 is gone; what is in the cluster stays"},
		"there is none yet":           {observe: func(o *observation) { o.Target.Spec.Content = "" }, reason: certificatesv1alpha1.ReasonIssuanceNotFound, hint: "is gone"},
		"it is another Secret":        {there: stored(corev1.SecretTypeTLS, right), reason: certificatesv1alpha1.ReasonIssuanceNotFound, hint: `of type "kubernetes.io/tls" and no issuance: delete it`},
		"it has another name":         {there: stored(issuance, wrong), reason: refusal, hint: "goes into no cluster"},
		"it has another key":          {there: stored(issuance, stolen), reason: refusal, hint: "belongs to another certificate"},
		"it is empty":                 {there: stored(issuance, nil), reason: refusal, hint: "tls.crt"},
		"it is not valid yet":         {there: stored(issuance, early), reason: refusal, hint: "wait", waits: true},
		"it has expired":              {there: stored(issuance, late), reason: refusal, hint: "expired at"},
		"it expired after it came":    {there: stored(issuance, late), observe: func(o *observation) { expiredHere(o, "web-1") }},
		"the one before has expired":  {there: stored(issuance, late), observe: func(o *observation) { expiredHere(o, "web-0") }, reason: refusal, hint: "expired at"},
		"a wrong one that is expired": {there: stored(issuance, wrong), observe: func(o *observation) { expiredHere(o, "web-1") }, reason: refusal, hint: "goes into no cluster"},
	} {
		t.Run(name, func(t *testing.T) {
			builder := fake.NewClientBuilder()
			if test.there != nil {
				builder.WithObjects(test.there)
			}
			o := newObserved()
			if test.observe != nil {
				test.observe(o)
			}
			found, err := (&Reconciler{Room: &Room{APIReader: builder.Build()}}).readIssuance(t.Context(), o, w)
			for _, key := range [][]byte{right["tls.key"], wrong["tls.key"], early["tls.key"], late["tls.key"]} {
				tellsNoSecret(t, key, err)
			}
			if test.reason == "" {
				if err != nil || found == nil || found.Fingerprint == "" {
					t.Errorf("it is refused: %v", err)
				}
				return
			}
			var verdict *target.Verdict
			if found != nil || !errors.As(err, &verdict) || verdict.Reason != test.reason || !strings.Contains(verdict.Message, test.hint) {
				t.Fatalf("it ends with %v", err)
			}
			if verdict.Stalled == test.waits || o.Extra.again.IsZero() == test.waits {
				t.Errorf("stalled %v, again at %s", verdict.Stalled, o.Extra.again)
			}
			if test.waits && !o.Extra.again.Equal(now.Add(5*time.Minute+time.Second)) {
				t.Errorf("again at %s", o.Extra.again)
			}
		})
	}
}

// expiredHere has an issuance in the cluster that expired an hour ago.
func expiredHere(o *observation, issuance string) {
	o.Status.Certificate = &certificatesv1alpha1.DeliveredCertificate{Issuance: issuance, NotAfter: metav1.NewTime(now.Add(-hour))}
}

// What the API server did not answer may be there: the next try finds out.
func TestAnUnansweredReadIsNoVerdict(t *testing.T) {
	_, err := (&Reconciler{Room: &Room{APIReader: unanswered{}}}).readIssuance(t.Context(), newObserved(), newWanted(t))
	var verdict *target.Verdict
	if err == nil || errors.As(err, &verdict) {
		t.Errorf("it ends with %v", err)
	}
}

func TestABundleWithoutCertificatesReadsNone(t *testing.T) {
	found, err := (&Reconciler{Room: &Room{APIReader: unanswered{}}}).readIssuance(t.Context(), newObserved(), newWanted(t, func(w *wanted) { w.Certificate = nil }))
	if found != nil || err != nil {
		t.Errorf("got %v, %v", found, err)
	}
}

func TestAStatusTellsWhatWasDeliveredAndNothingSecret(t *testing.T) {
	w := newWanted(t, trustTarget("ConfigMap", "anchors", in("shop")), secretTarget("web-tls", selecting("tier", "web"), withKey("store", certificatesv1alpha1.FormatJKS)))
	w.Trust.Summary = certificatesv1alpha1.AnchorSummary{Count: 2, Hash: "abc"}
	w.issued.Serial, w.issued.Fingerprint, w.issued.NotAfter = "7f", "f00d", now.Add(hour)
	o := newObserved()
	o.Extra.namespaces = map[string][]string{"tier=web": {"shop"}}
	status := &certificatesv1alpha1.CertificateDeliveryStatus{}
	tellDeclared(declaredIn(o, w), status)
	if got := status.Certificate; got == nil || got.Issuance != "web-1" || got.SerialNumber != "7f" || got.Fingerprint != "f00d" || !got.NotAfter.Time.Equal(now.Add(hour)) {
		t.Errorf("it tells %+v", got)
	}
	if status.Anchors == nil || status.Anchors.Count != 2 || len(status.NamespaceSelectors) != 1 || status.NamespaceSelectors[0] != "tier=web" || status.Namespaces != hashOf(o.Extra.namespaces) {
		t.Errorf("it tells %+v", status)
	}
	tellsNoSecret(t, w.issued.PrivateKey, *status, *status.Certificate, w.issued)

	// What is not declared in a reconcile stays as it is told; what a bundle has no more goes.
	before := status.DeepCopy()
	if tellDeclared(nil, status); status.Certificate.SerialNumber != before.Certificate.SerialNumber {
		t.Error("what was delivered is forgotten")
	}
	w.issued, w.Trust = nil, nil
	if tellDeclared(declaredIn(o, w), status); status.Certificate != nil || status.Anchors != nil {
		t.Errorf("it tells %+v", status)
	}
}
