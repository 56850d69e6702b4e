package relay

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/truncate"
)

// definition is the CRD of cert-manager's CertificateRequests.
const definition = "certificaterequests.cert-manager.io"

// certificateRequestKind is in cert-manager's only stable version.
var certificateRequestKind = schema.GroupVersionKind{Group: "cert-manager.io", Version: "v1", Kind: "CertificateRequest"}

// annotationRequest names the request in the cluster, for people.
const annotationRequest = "daytwo.dev/request"

// certificateRequest is a CertificateRequest of cert-manager, in the management cluster.
type certificateRequest struct {
	name    string
	uid     types.UID
	created time.Time
	deleted bool
	// object is the whole of it; nil where that is not needed, or not there yet.
	object *unstructured.Unstructured
}

// certificateRequestName follows from what is asked for, by whom and whom it asks, so that asking again asks for nothing new.
func certificateRequestName(delivery *certificatesv1alpha1.CertificateDelivery, clusterID types.UID, r request, wanted asked, p *policy) string {
	encoded, err := json.Marshal([]any{delivery.UID, clusterID, r.uid, r.pem, wanted.Usages, wanted.duration, p.issuer})
	if err != nil {
		panic(fmt.Sprintf("strings and numbers are always JSON: %v", err))
	}
	sum := sha256.Sum256(encoded)
	return delivery.Name + "-" + hex.EncodeToString(sum[:10])
}

// desiredCertificateRequest is what cert-manager is asked for. Its request are the bytes that were checked.
func desiredCertificateRequest(delivery *certificatesv1alpha1.CertificateDelivery, name string, r request, wanted asked, p *policy) *unstructured.Unstructured {
	usages := make([]any, 0, len(wanted.Usages))
	for _, usage := range wanted.Usages {
		usages = append(usages, usage)
	}
	object := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"request": base64.StdEncoding.EncodeToString(r.pem), "usages": usages, "duration": wanted.duration.String(),
		"issuerRef": map[string]any{"group": certificateRequestKind.Group, "kind": p.issuer.Kind, "name": p.issuer.Name},
	}}}
	object.SetGroupVersionKind(certificateRequestKind)
	object.SetNamespace(delivery.Namespace)
	object.SetName(name)
	object.SetLabels(map[string]string{
		metav1alpha1.LabelDelivery: delivery.Name, metav1alpha1.LabelBundle: delivery.Labels[metav1alpha1.LabelPolicy],
		metav1alpha1.LabelCluster: delivery.Spec.ClusterRef.Name, metav1alpha1.LabelClusterNamespace: delivery.Spec.ClusterRef.Namespace,
	})
	object.SetAnnotations(map[string]string{annotationRequest: r.name})
	object.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: certificatesv1alpha1.GroupVersion.String(), Kind: "CertificateDelivery", Name: delivery.Name, UID: delivery.UID,
		Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(false),
	}})
	return object
}

// isAsDesired is whether what is there asks for what it should. Nothing of it can be changed, so another one of that name was
// made by somebody else.
func isAsDesired(live, desired *unstructured.Unstructured) bool {
	have, _, _ := unstructured.NestedMap(live.Object, "spec")
	want, _, _ := unstructured.NestedMap(desired.Object, "spec")
	for _, field := range []string{"request", "usages", "issuerRef"} {
		if !reflect.DeepEqual(have[field], want[field]) {
			return false
		}
	}
	isCA, _ := have["isCA"].(bool)
	duration, err := time.ParseDuration(textIn(have, "duration"))
	return !isCA && err == nil && duration.String() == textIn(want, "duration")
}

// certificateRequestState is what cert-manager says of a CertificateRequest.
type certificateRequestState struct {
	// issued: it has a certificate. failed: it never gets one.
	issued, failed bool
	// message of cert-manager.
	message string
	// certificate and ca in PEM, of one that is issued.
	certificate, ca []byte
}

func (s certificateRequestState) isFinal() bool { return s.issued || s.failed }

func stateOf(object *unstructured.Unstructured) certificateRequestState {
	state := certificateRequestState{}
	list, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, one := range list {
		condition, _ := one.(map[string]any)
		message, status := truncate.Cut(textIn(condition, "message"), maxMessage/2), textIn(condition, "status")
		switch kind, reason := textIn(condition, "type"), textIn(condition, "reason"); {
		case kind == "Ready" && status == "True":
			state.issued = true
		case kind == "Ready" && (reason == "Failed" || reason == "Denied"), (kind == "Denied" || kind == "InvalidRequest") && status == "True":
			state.failed, state.message = true, message
		case kind == "Ready" && !state.failed:
			state.message = message
		}
	}
	state.issued = state.issued && !state.failed
	// What is no base64 is no certificate either, which the check tells.
	state.certificate, _ = base64.StdEncoding.DecodeString(textIn(object.Object, "status", "certificate"))
	state.ca, _ = base64.StdEncoding.DecodeString(textIn(object.Object, "status", "ca"))
	return state
}
