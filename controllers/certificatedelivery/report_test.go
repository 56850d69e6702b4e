package certificatedelivery

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testingclock "k8s.io/utils/clock/testing"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/target"
)

const day = 24 * hour

// holding is a status with a certificate that lasts 60 days, and anchors, that end so long after now; zero for none.
func holding(certificate, anchors time.Duration) *certificatesv1alpha1.CertificateDeliveryStatus {
	status := &certificatesv1alpha1.CertificateDeliveryStatus{}
	if certificate != 0 {
		end := now.Add(certificate)
		status.Certificate = &certificatesv1alpha1.DeliveredCertificate{SerialNumber: "7f", NotBefore: metav1.NewTime(end.Add(-60 * day)), NotAfter: metav1.NewTime(end)}
	}
	if anchors != 0 {
		end := metav1.NewTime(now.Add(anchors))
		status.Anchors = &certificatesv1alpha1.AnchorSummary{Count: 2, Expires: &end}
	}
	return status
}

func TestWhatExpiresSoonIsToldAndWhenThatChanges(t *testing.T) {
	for name, test := range map[string]struct {
		certificate, anchors time.Duration
		reason               string
		// what is told of it.
		what string
		due  time.Duration
	}{
		"nothing is there":                         {reason: "Valid", what: "nothing expires soon"},
		"a certificate has time":                   {certificate: 30 * day, reason: "Valid", due: 20 * day},
		"a certificate has a sixth of its life":    {certificate: 10 * day, reason: "ExpiringSoon", what: "the certificate expires at", due: 10 * day},
		"a certificate has expired":                {certificate: -day, reason: "Expired", what: "the certificate expired at"},
		"anchors have time":                        {anchors: 100 * day, reason: "Valid", due: 70 * day},
		"anchors have a month":                     {anchors: 30 * day, reason: "ExpiringSoon", what: "a trust anchor expires at", due: 30 * day},
		"an anchor has expired":                    {anchors: -day, reason: "Expired", what: "a trust anchor expired at"},
		"an anchor expires before the certificate": {certificate: 30 * day, anchors: 5 * day, reason: "ExpiringSoon", what: "a trust anchor", due: 5 * day},
		"the certificate expires before an anchor": {certificate: 5 * day, anchors: 100 * day, reason: "ExpiringSoon", what: "the certificate", due: 5 * day},
		"what has expired is worse":                {certificate: -day, anchors: 5 * day, reason: "Expired", what: "the certificate expired", due: 5 * day},
		"what has expired is worse, too":           {certificate: 5 * day, anchors: -day, reason: "Expired", what: "a trust anchor expired", due: 5 * day},
	} {
		t.Run(name, func(t *testing.T) {
			got := expiryOf(holding(test.certificate, test.anchors), now)
			want := metav1.ConditionTrue
			if test.reason == "Valid" {
				want = metav1.ConditionFalse
			}
			if got.status != want || got.reason != test.reason || !strings.Contains(got.message, test.what) {
				t.Errorf("got %+v", got)
			}
			if due := got.due.Sub(now); got.due.IsZero() != (test.due == 0) || test.due != 0 && due != test.due {
				t.Errorf("it is looked at again after %s", due)
			}
		})
	}
}

// At each time at which it said that something changes, something does.
func TestExpiryChangesWhenItIsDue(t *testing.T) {
	status, at, reasons := holding(30*day, 45*day), now, ""
	for range 10 {
		got := expiryOf(status, at)
		reasons += got.reason + " "
		if got.due.IsZero() {
			break
		}
		if !got.due.After(at) {
			t.Fatalf("it is due at %s, at %s", got.due, at)
		}
		at = got.due
	}
	if reasons != "Valid ExpiringSoon ExpiringSoon Expired Expired " {
		t.Errorf("it goes %s", reasons)
	}
}

func TestAnchorsThatDoNotExpireAreValid(t *testing.T) {
	if got := expiryOf(&certificatesv1alpha1.CertificateDeliveryStatus{Anchors: &certificatesv1alpha1.AnchorSummary{Count: 1}}, now); got.reason != "Valid" || !got.due.IsZero() {
		t.Errorf("got %+v", got)
	}
}

func applied(status *certificatesv1alpha1.CertificateDeliveryStatus, value metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(&status.Conditions, metav1.Condition{Type: metav1alpha1.ConditionApplied, Status: value, Reason: reason, Message: message})
}

func TestDistributedIsWhatWasReadBack(t *testing.T) {
	everywhere := func(status *certificatesv1alpha1.CertificateDeliveryStatus) {
		applied(status, metav1.ConditionTrue, "Applied", "")
	}
	acknowledged := func(generation int64) func(*certificatesv1alpha1.CertificateDeliveryStatus) {
		return func(status *certificatesv1alpha1.CertificateDeliveryStatus) {
			everywhere(status)
			status.Acknowledged = &metav1alpha1.Acknowledgement{Generation: generation}
		}
	}
	for name, test := range map[string]struct {
		tell            func(*certificatesv1alpha1.CertificateDeliveryStatus)
		unreachable     string
		empty           bool
		status          metav1.ConditionStatus
		reason, message string
	}{
		"of this generation":       {tell: acknowledged(2), status: "True", reason: "Distributed", message: "the certificate 7f was read back"},
		"not of the one before":    {tell: acknowledged(1), status: "False", reason: "NotDistributed", message: "not everything was read back yet"},
		"not what was not applied": {status: "False", reason: "NotDistributed", message: "not applied yet"},
		"not what was refused": {
			tell: func(status *certificatesv1alpha1.CertificateDeliveryStatus) {
				applied(status, metav1.ConditionFalse, "Conflict", "it is in the way")
			},
			status: "False", reason: "Conflict", message: "it is in the way",
		},
		"unknown while nobody answers": {tell: acknowledged(2), unreachable: "no answer", status: "Unknown", reason: "ClusterUnreachable", message: "no answer"},
		"where there is nothing":       {tell: everywhere, empty: true, status: "True", reason: "Distributed"},
	} {
		t.Run(name, func(t *testing.T) {
			o, status := newObserved(), holding(30*day, 0)
			o.Unreachable = test.unreachable
			if !test.empty {
				status.Inventory = []metav1alpha1.InventoryEntry{{ID: "x"}}
			}
			if test.tell != nil {
				test.tell(status)
			}
			conclude(o, status, o.Now)
			got := meta.FindStatusCondition(status.Conditions, certificatesv1alpha1.ConditionDistributed)
			if got == nil || got.Status != test.status || got.Reason != test.reason || !strings.Contains(got.Message, test.message) || got.ObservedGeneration != 2 {
				t.Errorf("got %+v", got)
			}
			if anchors := meta.FindStatusCondition(status.Conditions, certificatesv1alpha1.ConditionTrustDistributed); anchors != nil {
				t.Errorf("of anchors that nobody asked for it tells %+v", anchors)
			}
		})
	}
}

func TestTrustDistributedSaysWhatIsLeftOut(t *testing.T) {
	status := holding(0, 100*day)
	status.Inventory = []metav1alpha1.InventoryEntry{{ID: "x"}}
	status.Acknowledged = &metav1alpha1.Acknowledgement{Generation: 2}
	applied(status, metav1.ConditionTrue, "Applied", "")
	anchors := status.Anchors
	for i, step := range []struct {
		declared    *declared
		unreachable string
		want        string
	}{
		{declared: &declared{anchors: anchors, leftOut: notServed}, want: "2 trust anchors in every place that the bundle names; the cluster does not serve ClusterTrustBundles"},
		{want: "2 trust anchors in every place that the bundle names; the cluster does not serve ClusterTrustBundles"}, // Nothing had to be written.
		{unreachable: "no answer", want: "no answer; the cluster does not serve ClusterTrustBundles"},
		{want: "2 trust anchors in every place that the bundle names; the cluster does not serve ClusterTrustBundles"},
		{declared: &declared{anchors: anchors}, want: "2 trust anchors in every place that the bundle names"},
		{want: "2 trust anchors in every place that the bundle names"},
	} {
		o := newObserved()
		o.Target.Spec.Content, o.Extra.declared, o.Unreachable = "", step.declared, step.unreachable
		conclude(o, status, o.Now)
		if got := meta.FindStatusCondition(status.Conditions, certificatesv1alpha1.ConditionTrustDistributed); got == nil || got.Message != step.want {
			t.Errorf("step %d: got %+v", i, got)
		}
	}
	if meta.FindStatusCondition(status.Conditions, certificatesv1alpha1.ConditionDistributed) != nil {
		t.Error("a certificate is distributed that nobody asked for")
	}
}

func TestAStatusTellsOfACertificateOnceItIsInTheCluster(t *testing.T) {
	next := holding(60*day, 0).Certificate
	next.Issuance = "next"
	for name, test := range map[string]struct {
		change func(*observation, *certificatesv1alpha1.CertificateDeliveryStatus)
		told   bool
	}{
		"applied": {told: true},
		"refused": {change: func(_ *observation, s *certificatesv1alpha1.CertificateDeliveryStatus) {
			applied(s, metav1.ConditionFalse, "Refused", "")
		}},
		"under way":    {change: func(_ *observation, s *certificatesv1alpha1.CertificateDeliveryStatus) { s.Applying = "next" }},
		"other inputs": {change: func(o *observation, _ *certificatesv1alpha1.CertificateDeliveryStatus) { o.Inputs = "next" }},
		"unreachable":  {change: func(o *observation, _ *certificatesv1alpha1.CertificateDeliveryStatus) { o.Unreachable = "no answer" }},
	} {
		t.Run(name, func(t *testing.T) {
			o, status := newObserved(), holding(30*day, 0)
			applied(status, metav1.ConditionTrue, "Applied", "")
			o.Extra.declared = &declared{certificate: next}
			if test.change != nil {
				test.change(o, status)
			}
			conclude(o, status, o.Now)
			if told := status.Certificate.Issuance == "next"; told != test.told {
				t.Errorf("it tells of %+v", status.Certificate)
			}
		})
	}
}

func TestAnOutcomeIsUnhealthyOnceSomethingHasExpired(t *testing.T) {
	unseen := &target.Verdict{Reason: certificatesv1alpha1.ReasonNamespacesUnavailable, Message: "forbidden"}
	for name, test := range map[string]struct {
		certificate time.Duration
		unseen      *target.Verdict
		reason      string
		summary     string
	}{
		"valid":                         {certificate: 30 * day, summary: "the certificate expires at 2026-03-31T12:00:00Z"},
		"soon":                          {certificate: day, summary: "the certificate expires at 2026-03-02T12:00:00Z"},
		"expired":                       {certificate: -day, reason: "Expired", summary: "the certificate expires at 2026-02-28T12:00:00Z"},
		"namespaces are unknown":        {certificate: 30 * day, unseen: unseen, reason: "NamespacesUnavailable", summary: "the certificate expires at 2026-03-31T12:00:00Z"},
		"expired, namespaces unknown":   {certificate: -day, unseen: unseen, reason: "Expired", summary: "the certificate expires at 2026-02-28T12:00:00Z"},
		"nothing there, nothing to say": {},
	} {
		t.Run(name, func(t *testing.T) {
			o := newObserved()
			o.Status, o.Extra.unseen = *holding(test.certificate, 0), test.unseen
			got, reason := (&Reconciler{Clock: testingclock.NewFakePassiveClock(o.Now)}).Outcome(o), ""
			if got.Unhealthy != nil {
				reason = got.Unhealthy.Reason
			}
			if reason != test.reason || got.Summary != test.summary {
				t.Errorf("unhealthy for %q, summary %q", reason, got.Summary)
			}
		})
	}
	if got := summaryOf(holding(0, day)); got != "2 trust anchors" {
		t.Errorf("of anchors alone it says %q", got)
	}
}

func TestNothingIsToldOfAClusterThatWasReplaced(t *testing.T) {
	status := holding(day, day)
	status.NamespaceSelectors, status.Namespaces = []string{"a=b"}, "abc"
	status.Authority = &certificatesv1alpha1.AuthorityAcknowledgement{ClusterUID: "former", AnchorHash: "both", Issuer: 1}
	if (&Reconciler{}).Forget(status); status.Certificate != nil || status.Anchors != nil || status.NamespaceSelectors != nil || status.Namespaces != "" || status.Authority.AnchorHash != "" || status.Authority.Issuer != 1 {
		t.Errorf("after another cluster took its place, it tells %+v", status)
	}
}
