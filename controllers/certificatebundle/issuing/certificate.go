package issuing

import (
	"crypto/sha256"
	"encoding/binary"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/truncate"
)

// definition is the CRD of cert-manager's Certificates.
const definition = "certificates.cert-manager.io"

// certificateKind is in cert-manager's only stable version. Its Go types would bring the API of gateways along.
var certificateKind = schema.GroupVersionKind{Group: "cert-manager.io", Version: "v1", Kind: "Certificate"}

const (
	// DefaultDuration is that of the API.
	DefaultDuration = 90 * 24 * time.Hour
	// spreadPart is which part of the time before a renewal is due the renewals of clusters are spread over.
	spreadPart = 10
	// maxReason is how much of cert-manager's words is told, in bytes.
	maxReason = 256
)

func newCertificate() *unstructured.Unstructured {
	certificate := &unstructured.Unstructured{}
	certificate.SetGroupVersionKind(certificateKind)
	return certificate
}

// desiredCertificate is what cert-manager is asked for.
func desiredCertificate(o observation) *unstructured.Unstructured {
	bundle, key, request := o.bundle, o.key, o.request
	template := bundle.Spec.Certificate
	duration, renewBefore := Lifetime(template)
	secretLabels := map[string]any{}
	for label, value := range key.labels() {
		secretLabels[label] = value
	}
	private := map[string]any{
		"algorithm": request.Algorithm, "encoding": "PKCS8", "rotationPolicy": template.PrivateKey.RotationPolicy,
	}
	if request.Size > 0 {
		private["size"] = int64(request.Size)
	}
	spec := map[string]any{
		"secretName": key.name(), "secretTemplate": map[string]any{"labels": secretLabels},
		"issuerRef":   map[string]any{"group": certificateKind.Group, "kind": o.issuer.Kind, "name": o.issuer.Name},
		"duration":    duration.String(),
		"renewBefore": (renewBefore + spread(key, duration-renewBefore)).String(),
		"privateKey":  private, "revisionHistoryLimit": int64(1), "usages": texts(request.Usages),
	}
	if request.CommonName != "" {
		spec["commonName"] = request.CommonName
	}
	for field, names := range map[string][]string{
		"dnsNames": request.DNSNames, "ipAddresses": request.IPAddresses, "uris": request.URIs, "emailAddresses": request.EmailAddresses,
	} {
		if len(names) > 0 {
			spec[field] = texts(names)
		}
	}
	certificate := newCertificate()
	certificate.SetNamespace(key.Bundle.Namespace)
	certificate.SetName(key.name())
	certificate.SetLabels(key.labels())
	certificate.SetOwnerReferences([]metav1.OwnerReference{ownerReference(bundle)})
	certificate.Object["spec"] = spec
	return certificate
}

// Lifetime is for how long a certificate is valid, and how long before its end it is renewed at the latest.
func Lifetime(template *certificatesv1alpha1.CertificateTemplate) (duration, renewBefore time.Duration) {
	duration = DefaultDuration
	if template.Duration != nil {
		duration = template.Duration.Duration
	}
	renewBefore = duration / 3 // cert-manager's default.
	if template.RenewBefore != nil {
		renewBefore = template.RenewBefore.Duration
	}
	return duration, renewBefore
}

// spread is how much earlier than others a certificate is renewed: certificates of many clusters that were issued at once are
// not renewed at once. It follows from the key, in whole seconds.
func spread(key Key, unused time.Duration) time.Duration {
	sum := sha256.Sum256([]byte(key.String()))
	part := float64(binary.BigEndian.Uint32(sum[:4])) / (1 << 32)
	return time.Duration(part * float64(unused/spreadPart)).Truncate(time.Second)
}

func texts(list []string) []any {
	plain := make([]any, 0, len(list))
	for _, one := range list {
		plain = append(plain, one)
	}
	return plain
}

// decisive are the fields of a Certificate that say what is issued. Those that are not asked for have to be empty: somebody added
// them, or the bundle asks for them no more.
var decisive = []string{
	"commonName", "dnsNames", "ipAddresses", "uris", "emailAddresses", "otherNames", "subject", "literalSubject", "isCA", "nameConstraints",
	"encodeUsagesInRequest", "signatureAlgorithm",
}

// isAsDesired is whether a Certificate asks for what it should. What others added beside that changes nothing that is issued.
func isAsDesired(live, desired *unstructured.Unstructured) bool {
	asked, _ := live.Object["spec"].(map[string]any)
	wanted, _ := desired.Object["spec"].(map[string]any)
	for _, field := range decisive {
		if _, is := asked[field]; is && wanted[field] == nil {
			return false
		}
	}
	return covers(asked, wanted) && equality.Semantic.DeepDerivative(desired.GetLabels(), live.GetLabels())
}

// covers is whether a value holds another one. Of objects, what is not wanted is not looked at; lists are the same or not.
func covers(live, wanted any) bool {
	fields, isObject := wanted.(map[string]any)
	if !isObject {
		return equality.Semantic.DeepEqual(live, wanted)
	}
	there, _ := live.(map[string]any)
	for name, value := range fields {
		if !covers(there[name], value) {
			return false
		}
	}
	return true
}

// isOurs is whether a Certificate was made for the key.
func isOurs(live *unstructured.Unstructured, key Key) bool {
	of, labelled := keyFromLabels(live)
	return labelled && of == key
}

// certificateState is what cert-manager says of a Certificate.
type certificateState struct {
	// ready: it is issued as it is asked for now.
	ready bool
	// issuing: it is about to be issued, or again.
	issuing bool
	// failure is why the last try to issue it failed; empty if it did not.
	failure string
	// message of its condition Ready.
	message string
}

func stateOf(live *unstructured.Unstructured) certificateState {
	if live == nil {
		return certificateState{}
	}
	state := certificateState{}
	list, _, _ := unstructured.NestedSlice(live.Object, "status", "conditions")
	for _, one := range list {
		condition, _ := one.(map[string]any)
		message, _ := condition["message"].(string)
		observed, _ := condition["observedGeneration"].(int64)
		switch {
		case condition["type"] == "Ready":
			state.ready = condition["status"] == "True" && observed == live.GetGeneration()
			state.message = truncate.Cut(message, maxReason)
		case condition["type"] == "Issuing" && condition["status"] == "True":
			state.issuing = true
		case condition["type"] == "Issuing" && condition["status"] == "False":
			state.failure = truncate.Cut(message, maxReason)
		}
	}
	return state
}
