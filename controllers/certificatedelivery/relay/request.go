package relay

import (
	"encoding/base64"
	"slices"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/issuance"
	"github.com/daytwo-dev/daytwo/controllers/internal/truncate"
)

var requestKind = certificatesv1.SchemeGroupVersion.WithKind("CertificateSigningRequest")

// What is kept of a request.
const (
	// maxOpen is how many requests of a cluster are looked at: as many as a watch keeps.
	maxOpen = 500
	// maxGroups of the requestor; usages have less.
	maxGroups = 64
	// maxUsages is more than there are.
	maxUsages = 32
	// maxMessage is how much of the answer to a request is kept and told, in bytes.
	maxMessage = 1000
)

// selectionOf are the requests of a signer.
func selectionOf(signer string) fleet.Selection {
	return fleet.Selection{Kind: requestKind, Fields: "spec.signerName=" + signer, Limit: maxOpen, Reducer: keptParts{}}
}

// answers are what ends a request, as the cluster tells it.
const (
	answerIssued = "Issued"
	answerDenied = string(certificatesv1.CertificateDenied)
	answerFailed = string(certificatesv1.CertificateFailed)
)

// request is a CertificateSigningRequest, which is the cluster's word.
type request struct {
	name    string
	uid     types.UID
	version string
	created time.Time

	// answer is how the request ended; empty for one that is open. The rest of those that ended is not kept.
	answer  string
	message string
	// answered is when it was denied; zero if that is not known.
	answered time.Time

	signer   string
	approved bool
	// conditions is whether the request has any.
	conditions bool
	// pem is the request itself. Of a larger one than issuance.MaxRequestBytes only the size is known.
	pem      []byte
	oversize int
	usages   []string
	// expiration is how long the certificate is to be valid; zero for no wish.
	expiration time.Duration
	username   string
	groups     []string
}

func (r request) isOpen() bool { return r.answer == "" }

// keptParts implements fleet.Reducer. A request that has its answer is spent.
type keptParts struct{}

// Reduce implements fleet.Reducer.
func (keptParts) Reduce(object *unstructured.Unstructured) (spent bool) {
	whole := object.Object
	kept := map[string]any{"apiVersion": whole["apiVersion"], "kind": whole["kind"], "metadata": map[string]any{
		"name": object.GetName(), "uid": string(object.GetUID()), "resourceVersion": object.GetResourceVersion(),
		"creationTimestamp": object.GetCreationTimestamp().UTC().Format(time.RFC3339),
	}}
	object.Object = kept
	answer, status := answerOf(whole)
	spec := map[string]any{"signerName": truncate.Cut(textIn(whole, "spec", "signerName"), maxMessage)}
	kept["status"], kept["spec"] = status, spec
	if answer != "" {
		return true
	}
	spec["username"] = truncate.Cut(textIn(whole, "spec", "username"), maxMessage)
	spec["usages"], spec["groups"] = textsIn(whole, maxUsages, "spec", "usages"), textsIn(whole, maxGroups, "spec", "groups")
	if seconds, found, _ := unstructured.NestedInt64(whole, "spec", "expirationSeconds"); found {
		spec["expirationSeconds"] = seconds
	}
	if text := textIn(whole, "spec", "request"); len(text) > base64.StdEncoding.EncodedLen(issuance.MaxRequestBytes) {
		spec["oversize"] = int64(base64.StdEncoding.DecodedLen(len(text)))
	} else {
		spec["request"] = text
	}
	return false
}

// answerOf is how a request ended, and what is kept of its status.
func answerOf(whole map[string]any) (answer string, status map[string]any) {
	status = map[string]any{}
	list, _, _ := unstructured.NestedFieldNoCopy(whole, "status", "conditions")
	conditions, _ := list.([]any)
	status["conditions"] = len(conditions) > 0
	for _, one := range conditions {
		condition, _ := one.(map[string]any)
		kind := textIn(condition, "type")
		switch kind {
		case string(certificatesv1.CertificateApproved):
			status["approved"] = true
		case answerDenied, answerFailed:
			answer = kind
			status["message"] = truncate.Cut(textIn(condition, "message"), maxMessage)
			status["at"] = truncate.Cut(textIn(condition, "lastUpdateTime"), maxMessage)
		}
	}
	if textIn(whole, "status", "certificate") != "" {
		answer = answerIssued
	}
	if answer != "" {
		status["answer"] = answer
	}
	return answer, status
}

// requestOf reads what was kept.
func requestOf(kept *unstructured.Unstructured) request {
	r := request{
		name: kept.GetName(), uid: kept.GetUID(), version: kept.GetResourceVersion(), created: kept.GetCreationTimestamp().Time,
		answer: textIn(kept.Object, "status", "answer"), message: textIn(kept.Object, "status", "message"),
		signer: textIn(kept.Object, "spec", "signerName"), username: textIn(kept.Object, "spec", "username"),
		usages: textsOf(kept.Object, "spec", "usages"), groups: textsOf(kept.Object, "spec", "groups"),
	}
	r.answered, _ = time.Parse(time.RFC3339, textIn(kept.Object, "status", "at"))
	r.approved, _, _ = unstructured.NestedBool(kept.Object, "status", "approved")
	r.conditions, _, _ = unstructured.NestedBool(kept.Object, "status", "conditions")
	if text := textIn(kept.Object, "spec", "request"); text != "" {
		r.pem, _ = base64.StdEncoding.DecodeString(text) // What is no base64 is no PEM either.
	}
	oversize, _, _ := unstructured.NestedInt64(kept.Object, "spec", "oversize")
	seconds, _, _ := unstructured.NestedInt64(kept.Object, "spec", "expirationSeconds")
	r.oversize, r.expiration = int(oversize), time.Duration(max(0, min(seconds, maxSeconds)))*time.Second
	return r
}

// maxSeconds is far longer than a policy allows, and fits into a time.Duration.
const maxSeconds = int64(100 * 365 * 24 * time.Hour / time.Second)

// oldestFirst orders requests by when they came.
func oldestFirst(a, b request) int {
	if order := a.created.Compare(b.created); order != 0 {
		return order
	}
	if a.name < b.name {
		return -1
	}
	return 1
}

func textIn(object map[string]any, fields ...string) string {
	text, _, _ := unstructured.NestedString(object, fields...)
	return text
}

func textsIn(object map[string]any, most int, fields ...string) []any {
	found, _, _ := unstructured.NestedFieldNoCopy(object, fields...)
	list, _ := found.([]any)
	kept := []any{}
	for _, one := range list[:min(len(list), most)] {
		text, _ := one.(string)
		kept = append(kept, truncate.Cut(text, maxMessage))
	}
	return kept
}

func textsOf(object map[string]any, fields ...string) []string {
	texts, _, _ := unstructured.NestedStringSlice(object, fields...)
	return texts
}

// requestsOf are the requests for a signer that a watch shows, the oldest first. A server that pays no heed to the selector may
// show those of other signers, and one that is hostile names that become another path.
func requestsOf(shown []*unstructured.Unstructured, signer string) []request {
	found := make([]request, 0, len(shown))
	for _, one := range shown {
		r := requestOf(one)
		if r.signer == signer && len(validation.IsDNS1123Subdomain(r.name)) == 0 {
			found = append(found, r)
		}
	}
	slices.SortFunc(found, oldestFirst)
	return found
}
