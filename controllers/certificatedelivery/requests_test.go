package certificatedelivery

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/certificatedelivery/relay"
)

func TestADeliveryTellsOfItsRequests(t *testing.T) {
	counts := &certificatesv1alpha1.RequestSummary{Issued: 2, Denied: 1}
	served := relay.State{Generation: 2, Status: metav1.ConditionTrue, Reason: certificatesv1alpha1.ReasonServed, Message: "answered", Summary: counts}
	refused := relay.State{Generation: 2, Status: metav1.ConditionFalse, Reason: metav1alpha1.ReasonRefused, Message: "the cluster refuses", Failed: true}
	former := served
	former.Generation = 1
	for name, row := range map[string]struct {
		signer, unreachable string
		state               relay.State
		before              metav1.ConditionStatus
		status              metav1.ConditionStatus
		reason              string
		requests, failed    bool
	}{
		"none without a signer":       {state: served, before: metav1.ConditionTrue},
		"answered":                    {signer: "daytwo.dev/web", state: served, status: metav1.ConditionTrue, reason: certificatesv1alpha1.ReasonServed, requests: true},
		"refused":                     {signer: "daytwo.dev/web", state: refused, status: metav1.ConditionFalse, reason: metav1alpha1.ReasonRefused, failed: true},
		"not looked at yet":           {signer: "daytwo.dev/web", status: metav1.ConditionUnknown, reason: metav1alpha1.ReasonProgressing},
		"of the generation before":    {signer: "daytwo.dev/web", state: former, before: metav1.ConditionFalse, status: metav1.ConditionFalse, reason: "Before"},
		"in a cluster that is silent": {signer: "daytwo.dev/web", state: served, unreachable: "no answer", status: metav1.ConditionUnknown, reason: metav1alpha1.ReasonClusterUnreachable},
	} {
		t.Run(name, func(t *testing.T) {
			o, status := newObserved(), &certificatesv1alpha1.CertificateDeliveryStatus{}
			o.Target.Spec.SignerName, o.Unreachable, o.Extra.requests = row.signer, row.unreachable, row.state
			if row.before != "" {
				meta.SetStatusCondition(&status.Conditions, metav1.Condition{Type: certificatesv1alpha1.ConditionRequestsServed, Status: row.before, Reason: "Before"})
			}
			concludeRequests(o, status)
			got := meta.FindStatusCondition(status.Conditions, certificatesv1alpha1.ConditionRequestsServed)
			if row.status == "" {
				if got != nil {
					t.Errorf("got %+v", got)
				}
				return
			}
			if got == nil || got.Status != row.status || got.Reason != row.reason {
				t.Errorf("got %+v", got)
			}
			if (status.Requests != nil) != row.requests || (requestsTrouble(o) != nil) != row.failed {
				t.Errorf("it tells of %+v, and is in trouble by %+v", status.Requests, requestsTrouble(o))
			}
		})
	}
}
