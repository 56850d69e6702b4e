package issuing

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/issuance"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

// Annotations of an issuance.
const (
	annotationRequest   = "daytwo.dev/request"
	annotationSource    = "daytwo.dev/source"
	annotationNotBefore = "daytwo.dev/not-before"
	annotationNotAfter  = "daytwo.dev/not-after"
)

// Indexes of Secrets, by the certificate that they are for, and by its bundle.
const (
	indexKey    = "daytwo.certificate"
	indexBundle = "daytwo.bundle"
)

// Issuance is an issued certificate that was checked, as the metadata of its Secret tells of it.
type Issuance struct {
	Name    string
	Created time.Time
	// Request is the RequestHash that it was checked for, and Source the state of cert-manager's Secret that it was taken from.
	Request, Source string
	// NotBefore and NotAfter are between when it is valid.
	NotBefore, NotAfter time.Time
}

func issuanceOf(secret client.Object) (Issuance, bool) {
	annotations := secret.GetAnnotations()
	found := Issuance{
		Name: secret.GetName(), Created: secret.GetCreationTimestamp().Time, Request: annotations[annotationRequest], Source: annotations[annotationSource],
	}
	var errBefore, errAfter error
	found.NotBefore, errBefore = time.Parse(time.RFC3339, annotations[annotationNotBefore])
	found.NotAfter, errAfter = time.Parse(time.RFC3339, annotations[annotationNotAfter])
	return found, found.Request != "" && errBefore == nil && errAfter == nil
}

// isIssuance is whether a Secret that belongs to a certificate is an issuance, and not cert-manager's own.
func isIssuance(secret client.Object) bool { return secret.GetAnnotations()[annotationRequest] != "" }

// List returns the issuances of a certificate, the newest first, from the manager's cache. Who may write Secrets in the namespace
// may write some that look like one; their content is checked where it is read.
func List(ctx context.Context, cached client.Reader, key Key) ([]Issuance, error) {
	secrets, err := list(ctx, cached, key.Bundle.Namespace, indexKey, key.String())
	if err != nil {
		return nil, err
	}
	var found []Issuance
	for i := range secrets {
		if one, ok := issuanceOf(&secrets[i]); ok && strings.HasPrefix(one.Name, key.name()+"-") {
			found = append(found, one)
		}
	}
	slices.SortFunc(found, newestFirst)
	return found, nil
}

// newestFirst orders issuances. Times have whole seconds; within one, the version of what they were taken from tells.
func newestFirst(a, b Issuance) int {
	return cmp.Or(b.NotBefore.Compare(a.NotBefore), cmp.Compare(b.sourceVersion(), a.sourceVersion()), b.Created.Compare(a.Created), cmp.Compare(a.Name, b.Name))
}

// sourceVersion is the resourceVersion of cert-manager's Secret, which API servers count up (KEP-5504); 0 if it is no number.
func (i Issuance) sourceVersion() uint64 {
	_, version, _ := strings.Cut(i.Source, "/")
	number, _ := strconv.ParseUint(version, 10, 64)
	return number
}

func list(ctx context.Context, cached client.Reader, namespace, index, value string) ([]metav1.PartialObjectMetadata, error) {
	secrets := &metav1.PartialObjectMetadataList{}
	secrets.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	err := cached.List(ctx, secrets, client.InNamespace(namespace), client.MatchingFields{index: value}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("list the Secrets of %s: %w", value, err)
	}
	return secrets.Items, nil
}

// addIndexes has the cache find the Secrets of certificates.
func addIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	secret := objects.MetadataOf(corev1.SchemeGroupVersion.WithKind("Secret"))
	for index, value := range map[string]func(Key) string{
		indexKey:    Key.String,
		indexBundle: func(key Key) string { return key.Bundle.String() },
	} {
		err := indexer.IndexField(ctx, secret, index, func(object client.Object) []string {
			key, ok := keyFromLabels(object)
			if !ok {
				return nil
			}
			return []string{value(key)}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Current is the issuance that a cluster should have: one that the bundle goes back to, as long as it is valid, or the newest
// one of the request. Nil if there is none. The list has the newest first.
func Current(list []Issuance, rollbackTo []string, request string, now time.Time) *Issuance {
	for i := range list {
		if slices.Contains(rollbackTo, list[i].Name) && now.Before(list[i].NotAfter) {
			return &list[i]
		}
	}
	for i := range list {
		if list[i].Request == request {
			return &list[i]
		}
	}
	return nil
}

// prunable are the issuances beyond the limit, without those that are in use.
func prunable(list []Issuance, limit int, inUse func(name string) bool) (names []string) {
	for i, one := range list {
		if i >= limit && !inUse(one.Name) {
			names = append(names, one.Name)
		}
	}
	return names
}

// newIssuance is the Secret that keeps what was issued. Its name follows from the certificate and the request, so that taking the same one
// twice for the same request makes one Secret.
func newIssuance(bundle *certificatesv1alpha1.CertificateBundle, key Key, material issuance.Material, issued issuance.Issued, request, source string) *corev1.Secret {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: key.Bundle.Namespace, Name: key.name() + "-" + issued.Fingerprint[:10] + request[:4], Labels: key.labels(),
			Annotations: map[string]string{
				annotationRequest: request, annotationSource: source,
				annotationNotBefore: issued.NotBefore.UTC().Format(time.RFC3339), annotationNotAfter: issued.NotAfter.UTC().Format(time.RFC3339),
			},
			OwnerReferences: []metav1.OwnerReference{ownerReference(bundle)},
		},
		Type: metav1alpha1.SecretTypeIssuance, Immutable: ptr.To(true),
		Data: map[string][]byte{corev1.TLSCertKey: material.Certificate, corev1.TLSPrivateKeyKey: material.PrivateKey},
	}
	if len(material.CA) > 0 {
		secret.Data[corev1.ServiceAccountRootCAKey] = material.CA
	}
	return secret
}

func ownerReference(bundle *certificatesv1alpha1.CertificateBundle) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: certificatesv1alpha1.GroupVersion.String(), Kind: "CertificateBundle", Name: bundle.Name, UID: types.UID(bundle.UID),
		Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(false),
	}
}

// sourceOf tells one state of cert-manager's Secret from another.
func sourceOf(secret client.Object) string {
	return string(secret.GetUID()) + "/" + secret.GetResourceVersion()
}
