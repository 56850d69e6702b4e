package certificates

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
)

const (
	// beyond is more requests than are looked at.
	beyond = 550
	// stepsAtOnce are told at once, and one more in each stepEvery, as docs/limits.md says.
	stepsAtOnce = 6
	stepEvery   = 10 * time.Second
)

// TestAFloodOfRequestsHoldsNobodyUp makes more requests in one cluster than are looked at. All of them are answered in the end,
// and another cluster's request is answered meanwhile.
func TestAFloodOfRequestsHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	s := newSuite(t, "flood")
	s.createIssuer()
	first, _ := s.makeRequest("workload-2", "0", s.signer(), "evil.test")
	for i := 1; i < beyond; i++ {
		s.repeatRequest("workload-2", first, i)
	}
	late, lateKey := s.makeRequest("workload-2", "late", s.signer(), "late.workload-2.gold.test")
	s.create(s.relayBundle("workload-1", "workload-2"))
	elsewhere, key := s.makeRequest("workload-1", "good", s.signer(), "shop.workload-1.gold.test")
	s.checkAnswer(s.awaitRequest("workload-1", elsewhere, hasCertificate), key, "shop.workload-1.gold.test")
	s.checkAnswer(s.awaitRequest("workload-2", late, hasCertificate), lateKey, "late.workload-2.gold.test")
	expect.Eventually(t, "all requests have an answer", func(ctx context.Context) error {
		list := &certificatesv1.CertificateSigningRequestList{}
		if err := s.workload("workload-2").List(ctx, list); err != nil {
			return err
		}
		open := 0
		for _, one := range list.Items {
			if one.Spec.SignerName == s.signer() && len(one.Status.Conditions) == 0 {
				open++
			}
		}
		if open > 0 {
			return fmt.Errorf("%d are open", open)
		}
		return nil
	})
	if made := s.certificateRequests(t.Context()); len(made) != 2 {
		t.Errorf("%d CertificateRequests were made for two requests that are allowed", len(made))
	}
}

// TestRequestsThatComeAllTheTimeAreToldSeldom makes requests one after the other, for longer than steps are told at once.
func TestRequestsThatComeAllTheTimeAreToldSeldom(t *testing.T) {
	t.Parallel()
	s := newSuite(t, "trickle")
	s.createIssuer()
	bundle := s.create(s.relayBundle("workload-2"))
	s.awaitReady(bundle)
	s.withManager(func() { s.trickle(bundle, "workload-2") }) // One that begins anew may tell as many steps at once again.
}

// trickle makes requests one after the other, and counts what is written of them.
func (s *suite) trickle(bundle *certificatesv1alpha1.CertificateBundle, cluster string) {
	s.Helper()
	began, versions := time.Now(), s.versionsOf(bundle, cluster)
	first, _ := s.makeRequest(cluster, "0", s.signer(), "evil.test")
	requests, often := 1, time.NewTicker(time.Second/4)
	defer often.Stop()
	for ; time.Since(began) < 3*stepsAtOnce*time.Second; requests++ {
		<-often.C
		s.repeatRequest(cluster, first, requests)
	}
	expect.Eventually(s, "the latest is told", func(ctx context.Context) error {
		delivery, err := s.delivery(ctx, bundle, cluster)
		if err == nil && (delivery.Status.Requests == nil || int(delivery.Status.Requests.Denied) != requests) {
			err = fmt.Errorf("%d were made, and told are %+v", requests, delivery.Status.Requests)
		}
		return err
	})
	// Beside the steps, the watch begins with what is there, and conditions tell first what they come to.
	if wrote, most := versions(), stepsAtOnce+4+int(time.Since(began)/stepEvery); wrote > most {
		s.Errorf("%d requests are %d writes of the delivery in %s, want %d at most", requests, wrote, time.Since(began), most)
	}
}

// repeatRequest makes a request once more, under a name with a number.
func (s *suite) repeatRequest(cluster string, first *certificatesv1.CertificateSigningRequest, number int) {
	s.Helper()
	repeated := first.DeepCopy()
	repeated.ObjectMeta, repeated.Status = metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", s.name, number)}, certificatesv1.CertificateSigningRequestStatus{}
	must(s, s.workload(cluster).Create(s.Context(), repeated))
}

// versionsOf counts how often the delivery of a bundle in a cluster is written from now on.
func (s *suite) versionsOf(bundle *certificatesv1alpha1.CertificateBundle, cluster string) func() int {
	s.Helper()
	watching, err := env.Admin.Watch(s.Context(), &certificatesv1alpha1.CertificateDeliveryList{}, client.InNamespace(customer),
		client.MatchingLabels{metav1alpha1.LabelPolicy: bundle.Name, metav1alpha1.LabelCluster: cluster})
	must(s, err)
	s.Cleanup(watching.Stop)
	var versions atomic.Int64
	go func() {
		for range watching.ResultChan() {
			versions.Add(1)
		}
	}()
	return func() int { return int(versions.Load()) }
}

// TestAClusterThatRefusesAnswersIsTold keeps the manager from approving requests in one cluster.
func TestAClusterThatRefusesAnswersIsTold(t *testing.T) {
	t.Parallel()
	s := newSuite(t, "refusing")
	s.createIssuer()
	s.refuseApprovals("workload-3")
	bundle := s.create(s.relayBundle("workload-1", "workload-3"))
	s.awaitReady(bundle)
	refused, _ := s.makeRequest("workload-3", "refused", s.signer(), "shop.workload-3.gold.test")
	answered, _ := s.makeRequest("workload-1", "good", s.signer(), "shop.workload-1.gold.test")
	s.awaitRequest("workload-1", answered, hasCertificate)
	s.awaitCondition(bundle, certificatesv1alpha1.ConditionRequestsServed, metav1.ConditionFalse, metav1alpha1.ReasonRefused)
	for cluster, status := range map[string]metav1.ConditionStatus{"workload-1": metav1.ConditionTrue, "workload-3": metav1.ConditionFalse} {
		delivery, err := s.delivery(t.Context(), bundle, cluster)
		must(t, err)
		reason := certificatesv1alpha1.ReasonServed
		if status == metav1.ConditionFalse {
			reason = metav1alpha1.ReasonRefused
		}
		must(t, expect.Condition(delivery.Status.Conditions, certificatesv1alpha1.ConditionRequestsServed, status, reason))
	}
	now := &certificatesv1.CertificateSigningRequest{}
	must(t, s.workload("workload-3").Get(t.Context(), client.ObjectKeyFromObject(refused), now))
	if len(now.Status.Conditions)+len(now.Status.Certificate) > 0 {
		t.Errorf("the request has %+v", now.Status)
	}
}

// refuseApprovals has a cluster refuse all approvals of requests for the test's signer.
func (s *suite) refuseApprovals(cluster string) {
	s.Helper()
	name := s.name + "-approvals"
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update},
				Rule: admissionregistrationv1.Rule{
					APIGroups: []string{"certificates.k8s.io"}, APIVersions: []string{"v1"}, Resources: []string{"certificatesigningrequests/approval"},
				},
			}}}},
			Validations: []admissionregistrationv1.Validation{{
				Expression: fmt.Sprintf("object.spec.signerName != %q", s.signer()), Message: "nobody approves these", Reason: ptr.To(metav1.StatusReasonForbidden),
			}},
		},
	}
	must(s, s.workload(cluster).Create(s.Context(), policy))
	must(s, s.workload(cluster).Create(s.Context(), &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: name, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
		},
	}))
	// A policy takes a moment until it is enforced.
	probe, _ := s.makeRequest(cluster, "probe", s.signer(), "probe.test")
	expect.Eventually(s, "approvals are refused", func(ctx context.Context) error {
		tried := probe.DeepCopy()
		tried.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: certificatesv1.CertificateApproved, Status: "True", Reason: "Probe"}}
		if err := s.workload(cluster).SubResource("approval").Update(ctx, tried, client.DryRunAll); err == nil {
			return fmt.Errorf("one is taken")
		}
		return nil
	})
	must(s, s.workload(cluster).Delete(s.Context(), probe))
}
