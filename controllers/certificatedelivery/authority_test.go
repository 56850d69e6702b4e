package certificatedelivery

import (
	"bytes"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/certificatecontent"
	"github.com/daytwo-dev/daytwo/controllers/internal/conditions"
	"github.com/daytwo-dev/daytwo/controllers/internal/issuance/issuancetest"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
)

// toldAnchors has a delivery trust a root that is made by the name, and others.
func toldAnchors(t *testing.T, name string, others ...issuancetest.Certificate) *certificatesv1alpha1.DeliveredAuthority {
	t.Helper()
	anchors := issuancetest.Root(t, name).PEM()
	for _, one := range others {
		anchors = append(anchors, one.PEM()...)
	}
	return &certificatesv1alpha1.DeliveredAuthority{PolicyUID: "bundle-1", Generations: []int64{1, 2}, AnchorHash: "both", Anchors: string(anchors)}
}

// rotating is a delivery that trusts both authorities, with a leaf of one, and everything in place.
func rotating(t *testing.T, issuer int64) (*observation, *certificatesv1alpha1.CertificateDeliveryStatus) {
	t.Helper()
	o := newObserved()
	o.Target.Spec.Authority = toldAnchors(t, "one")
	o.Target.Spec.Content = "web-1" + certificatecontent.GenerationMark(issuer)
	status := holding(time.Hour, 0)
	status.ClusterID = "cluster-1"
	status.Acknowledged = &metav1alpha1.Acknowledgement{Generation: o.Target.Generation, Hash: "x"}
	conditions.List{Conditions: &status.Conditions, Generation: o.Target.Generation, Now: now}.Set(metav1alpha1.ConditionApplied, metav1.ConditionTrue, "Succeeded", "")
	return o, status
}

func TestWhatWasReadBackIsAcknowledged(t *testing.T) {
	written := now.Add(1500 * time.Millisecond)
	at, before := metav1.NewTime(now.Add(2*time.Second)), metav1.NewTime(now.Add(-time.Hour))
	type acknowledgement = certificatesv1alpha1.AuthorityAcknowledgement
	same := acknowledgement{PolicyUID: "bundle-1", Generation: 1, ClusterUID: "cluster-1", AnchorHash: "both", TrustSince: before, Issuer: 1, ReplacedAt: before}
	with := func(change func(*acknowledgement)) *acknowledgement {
		changed := same
		change(&changed)
		return &changed
	}
	for name, test := range map[string]struct {
		before            *acknowledgement
		issuer            int64
		trusted, replaced metav1.Time
	}{
		"the first time":                 {nil, 1, at, metav1.Time{}},
		"nothing is new":                 {&same, 1, before, before},
		"a leaf of another authority":    {&same, 2, before, at},
		"the leaf is removed":            {&same, 0, before, at},
		"the first leaf":                 {with(func(a *acknowledgement) { a.Issuer, a.ReplacedAt = 0, metav1.Time{} }), 1, before, metav1.Time{}},
		"another bundle of anchors":      {with(func(a *acknowledgement) { a.AnchorHash = "one" }), 1, at, before},
		"another cluster":                {with(func(a *acknowledgement) { a.ClusterUID = "cluster-0" }), 1, at, at},
		"a switch, after something else": {with(func(a *acknowledgement) { a.AnchorHash, a.TrustSince = "", metav1.Time{} }), 2, at, at},
		"after something else was seen":  {with(func(a *acknowledgement) { a.AnchorHash, a.TrustSince = "", metav1.Time{} }), 1, at, at},
	} {
		t.Run(name, func(t *testing.T) {
			o, status := rotating(t, test.issuer)
			status.Authority = test.before.DeepCopy()
			concludeAuthority(o, status, written)
			want := acknowledgement{
				PolicyUID: "bundle-1", Generation: o.Target.Generation, ClusterUID: "cluster-1", AnchorHash: "both", TrustSince: test.trusted,
				Issuer: test.issuer, ReplacedAt: test.replaced,
			}
			if status.Authority == nil || *status.Authority != want {
				t.Errorf("it acknowledges %+v, not %+v", status.Authority, want)
			}
		})
	}
}

func TestWhatIsNotInPlaceIsNotAcknowledged(t *testing.T) {
	for name, change := range map[string]func(*observation, *certificatesv1alpha1.CertificateDeliveryStatus){
		"the cluster does not answer": func(o *observation, _ *certificatesv1alpha1.CertificateDeliveryStatus) { o.Unreachable = "no answer" },
		"something else is applied":   func(o *observation, _ *certificatesv1alpha1.CertificateDeliveryStatus) { o.Inputs = "others" },
		"it is not read back": func(_ *observation, status *certificatesv1alpha1.CertificateDeliveryStatus) {
			status.Acknowledged.Generation--
			status.Inventory = []metav1alpha1.InventoryEntry{{ID: "x"}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			o, status := rotating(t, 1)
			change(o, status)
			if concludeAuthority(o, status, now); status.Authority != nil {
				t.Errorf("it acknowledges %+v", status.Authority)
			}
		})
	}
}

// A manager that is killed after it corrected something has told before what was there.
func TestWhatDiffersIsToldBeforeItIsPutRight(t *testing.T) {
	since := metav1.NewTime(now.Add(-time.Hour))
	o, status := rotating(t, 2)
	status.Authority = &certificatesv1alpha1.AuthorityAcknowledgement{ClusterUID: "cluster-1", Generation: 2, AnchorHash: "both", TrustSince: since, Issuer: 2, ReplacedAt: since}
	drifted := objects.Key{GroupKind: schema.GroupKind{Kind: "Secret"}, Namespace: "shop", Name: "web-tls"}
	o.Inventory = apply.Inventory{drifted: {}}
	o.States = map[objects.Key]apply.ObjectState{drifted: {Drifted: true}}
	concludeAuthority(o, status, now)
	if told := status.Authority; told.AnchorHash != "" || !told.TrustSince.IsZero() || told.Issuer != 2 || told.Generation != 2 {
		t.Errorf("it tells %+v", told)
	}
	o.States = nil
	concludeAuthority(o, status, now)
	if told := status.Authority; told.AnchorHash != "both" || !told.TrustSince.Time.Equal(now) || told.Issuer != 2 || !told.ReplacedAt.Time.Equal(now) {
		t.Errorf("put right, it tells %+v", told)
	}
}

func TestABundleWithoutAuthorityAcknowledgesNone(t *testing.T) {
	o, status := rotating(t, 0)
	o.Target.Spec.Authority, status.Authority = nil, &certificatesv1alpha1.AuthorityAcknowledgement{Generation: 1}
	if concludeAuthority(o, status, now); status.Authority != nil || hasDifference(o) {
		t.Errorf("it acknowledges %+v", status.Authority)
	}
}

func TestAnchorsOfTheBundleAreTrustedBesideThoseOfItsSources(t *testing.T) {
	source := issuancetest.Root(t, "source").PEM()
	expires := metav1.NewTime(now.Add(time.Hour))
	summary := certificatesv1alpha1.AnchorSummary{Count: 1, Hash: "x", Expires: &expires, LeftOut: []string{"one"}}
	trust := &certificatecontent.Trust{PEM: string(source), Summary: summary, Targets: []certificatesv1alpha1.TrustTarget{{Name: "anchors"}}}
	told := toldAnchors(t, "own", issuancetest.Root(t, "next"))
	merged, err := withOwnAnchors(trust, told, now)
	if err != nil || strings.Count(merged.PEM, "BEGIN CERTIFICATE") != 3 || merged.Summary.Count != 3 || len(merged.Targets) != 1 {
		t.Fatalf("they are %+v, %v", merged, err)
	}
	if merged.Summary.Expires == nil || len(merged.Summary.LeftOut) != 1 || merged.Summary.Hash == "x" {
		t.Errorf("what is told of them is %+v", merged.Summary)
	}
	if trust.PEM != string(source) {
		t.Error("the revision was changed")
	}
	alone, err := withOwnAnchors(&certificatecontent.Trust{}, told, now)
	if err != nil || alone.Summary.Count != 2 {
		t.Errorf("without sources they are %+v, %v", alone, err)
	}
	if none, err := withOwnAnchors(nil, told, now); none != nil || err != nil {
		t.Errorf("without trust they are %+v, %v", none, err)
	}
	if same, err := withOwnAnchors(trust, nil, now); same != trust || err != nil {
		t.Errorf("without an authority they are %+v, %v", same, err)
	}
}

// Clients have to trust both authorities before any certificate is from the next one.
func TestACertificateIsDeliveredWithTheAnchorsThatItsClusterIsTold(t *testing.T) {
	root, o := issuancetest.Root(t, "root"), newObserved()
	w := newWanted(t, func(w *wanted) { w.issued.CA = root.PEM() })
	o.Target.Spec.Authority = toldAnchors(t, "next", root)
	if err := w.issued.setAuthority(o, &corev1.Secret{}); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(w.issued.CA, []byte(o.Target.Spec.Authority.Anchors)) {
		t.Errorf("ca.crt is %s", w.issued.CA)
	}
}

func TestTheAuthorityIsTrustedBeforeThereIsACertificate(t *testing.T) {
	o := newObserved()
	o.Target.Spec.Content, o.Target.Spec.Authority = "", toldAnchors(t, "own")
	w := newWanted(t, secretTarget("web-tls", certificatesv1alpha1.Placement{Namespaces: []string{"shop"}}), trustTarget("ConfigMap", "anchors", certificatesv1alpha1.Placement{Namespaces: []string{"shop"}}))
	var err error
	if w.issued, err = (&Reconciler{Room: &Room{APIReader: unanswered{}}}).readIssuance(t.Context(), o, w); err != nil || w.issued != nil {
		t.Fatalf("it reads %+v, %v", w.issued, err)
	}
	list, err := desired(w)
	if err != nil || len(list) != 1 || list[0].GetKind() != "ConfigMap" {
		t.Errorf("it declares %v, %v", list, err)
	}
	w.Targets[0].Reload = certificatesv1alpha1.ReloadRestartWorkloads
	if targets, certificate := reloadTargets(w, list); len(targets) != 0 || certificate {
		t.Errorf("workloads are restarted for %v, which is not there", targets)
	}
}
