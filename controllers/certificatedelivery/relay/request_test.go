package relay

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	"github.com/daytwo-dev/daytwo/controllers/internal/issuance"
)

// shownAs is what is kept of an object that an API server stores, and whether it is spent.
func shownAs(t testing.TB, stored *certificatesv1.CertificateSigningRequest) (request, bool) {
	t.Helper()
	stored.APIVersion, stored.Kind = "certificates.k8s.io/v1", "CertificateSigningRequest"
	object := &unstructured.Unstructured{}
	text, err := json.Marshal(stored)
	if err == nil {
		err = object.UnmarshalJSON(text)
	}
	if err != nil {
		t.Fatal(err)
	}
	spent := keptParts{}.Reduce(object)
	return requestOf(object), spent
}

func storedRequest() *certificatesv1.CertificateSigningRequest {
	return &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: "one", UID: "uid", ResourceVersion: "7", CreationTimestamp: metav1.NewTime(now), Annotations: map[string]string{"a": strings.Repeat("a", 1<<18)}},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request: []byte("the request"), SignerName: signer, ExpirationSeconds: ptr.To[int32](3600), Usages: []certificatesv1.KeyUsage{"server auth"},
			Username: "ada", Groups: []string{"shop"},
		},
	}
}

func TestAnOpenRequestIsKept(t *testing.T) {
	stored := storedRequest()
	stored.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: "Approved", Status: "True"}}
	got, spent := shownAs(t, stored)
	want := request{
		name: "one", uid: "uid", version: "7", created: got.created, signer: signer, approved: true, conditions: true, pem: []byte("the request"),
		usages: []string{"server auth"}, expiration: time.Hour, username: "ada", groups: []string{"shop"},
	}
	if spent || !reflect.DeepEqual(got, want) || !got.created.Equal(now) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestARequestThatEndedIsSpent(t *testing.T) {
	for answer, end := range map[string]func(*certificatesv1.CertificateSigningRequestStatus){
		answerIssued: func(s *certificatesv1.CertificateSigningRequestStatus) { s.Certificate = []byte("a certificate") },
		answerDenied: func(s *certificatesv1.CertificateSigningRequestStatus) {
			s.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: "Denied", Message: "no", LastUpdateTime: metav1.NewTime(now)}}
		},
		answerFailed: func(s *certificatesv1.CertificateSigningRequestStatus) {
			s.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: "Approved"}, {Type: "Failed", Message: "no", LastUpdateTime: metav1.NewTime(now)}}
		},
	} {
		stored := storedRequest()
		end(&stored.Status)
		got, spent := shownAs(t, stored)
		if !spent || got.isOpen() || got.answer != answer || got.pem != nil {
			t.Errorf("%s: got %+v", answer, got)
		}
		if answer != answerIssued && (got.message != "no" || !got.answered.Equal(now)) {
			t.Errorf("%s: it says %q at %s", answer, got.message, got.answered)
		}
	}
}

func TestLittleIsKeptOfALargeRequest(t *testing.T) {
	stored := storedRequest()
	stored.Spec.Request = []byte(strings.Repeat("x", 1<<20))
	stored.Spec.Username = strings.Repeat("u", 1<<18)
	stored.Spec.Groups = strings.Split(strings.Repeat("g ", 10_000), " ")
	stored.Spec.Usages = make([]certificatesv1.KeyUsage, 1000)
	got, _ := shownAs(t, stored)
	if got.pem != nil || got.oversize < 1<<20 || len(got.username) > 2*maxMessage || len(got.groups) != maxGroups || len(got.usages) != maxUsages {
		t.Errorf("kept are %d bytes of one of %d, a name of %d, %d groups and %d usages", len(got.pem), got.oversize, len(got.username), len(got.groups), len(got.usages))
	}
	if _, refused := check(got, newPolicy(t, nil)); refused == nil || refused.reason != issuance.ReasonTooLarge {
		t.Errorf("it is denied as %+v", refused)
	}
}

// A server may pay no heed to the selector, and a name that no API server gives becomes part of no path.
func TestRequestsThatNobodyAskedForArePassedOver(t *testing.T) {
	shown := func(name, signer string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": name}, "spec": map[string]any{"signerName": signer}}}
	}
	got := requestsOf([]*unstructured.Unstructured{
		shown("../../api/v1/namespaces/x", signer), shown("kubelet", "kubernetes.io/kube-apiserver-client"), shown("none", ""), shown("ours", signer),
	}, signer)
	if len(got) != 1 || got[0].name != "ours" {
		t.Errorf("got %+v", got)
	}
}

// Whatever a cluster shows in the place of texts, nothing of it is believed.
func TestWhatIsNoRequestIsRead(t *testing.T) {
	for _, text := range []string{
		`{}`, `{"spec":1,"status":2}`, `{"metadata":{"name":"a"},"spec":{"request":{},"usages":"x","groups":[1,{}],"expirationSeconds":"x"},"status":{"conditions":{"a":1}}}`,
		`{"metadata":{"name":"a"},"spec":{"expirationSeconds":9223372036854775807,"request":"!"},"status":{"conditions":[1,null,{"type":1}],"certificate":1}}`,
	} {
		object := &unstructured.Unstructured{}
		if err := json.Unmarshal([]byte(text), &object.Object); err != nil {
			t.Fatal(err)
		}
		keptParts{}.Reduce(object)
		if _, refused := check(requestOf(object), newPolicy(t, nil)); refused == nil {
			t.Errorf("%s is allowed", text)
		}
	}
}
