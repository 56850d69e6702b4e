package bounded

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daytwo-dev/daytwo/controllers/internal/truncate"
)

const (
	// maxKept is how large the metadata of an object may be to be kept whole while it is not as expected, in bytes. Most
	// objects of charts have less than 10 KiB, half of them managedFields.
	maxKept = 32 << 10
	// maxKeptValues is how many labels, annotations, finalizers and owners are kept of larger metadata, and maxKeptValue
	// how long the value of a label or an annotation may be, in bytes.
	maxKeptValues, maxKeptValue = 64, 256
	// MaxSeenText bounds what is kept of a text in an object's status, in bytes.
	MaxSeenText = 2 << 10
	// MaxManager bounds what is kept of a field manager's name, in bytes.
	MaxManager = 128
	// maxIdentifier bounds a UID and a resource version in bytes. Those of API servers have at most 36,
	// and statuses and OrphanRecords take this many.
	maxIdentifier = 64
)

// Excerpt is what is kept of the metadata of an object that is not as expected. What owns which field is left out of
// large ones: who needs it reads the object.
func Excerpt(object *metav1.PartialObjectMetadata) *metav1.PartialObjectMetadata {
	kept := &metav1.PartialObjectMetadata{TypeMeta: object.TypeMeta, ObjectMeta: metav1.ObjectMeta{
		Namespace: object.Namespace, Name: object.Name, UID: object.UID, ResourceVersion: object.ResourceVersion, Generation: object.Generation,
		CreationTimestamp: object.CreationTimestamp, DeletionTimestamp: object.DeletionTimestamp,
		Labels: object.Labels, Annotations: object.Annotations, OwnerReferences: object.OwnerReferences, Finalizers: object.Finalizers,
		ManagedFields: object.ManagedFields,
	}}
	if sizeOf(kept) <= maxKept {
		return kept
	}
	kept.ManagedFields = nil
	kept.Labels, kept.Annotations = shortValues(object.Labels), shortValues(object.Annotations)
	kept.Finalizers = slices.Clone(object.Finalizers[:min(len(object.Finalizers), maxKeptValues)])
	for i, one := range kept.Finalizers {
		kept.Finalizers[i] = truncate.Cut(one, maxKeptValue)
	}
	kept.OwnerReferences = slices.Clone(object.OwnerReferences[:min(len(object.OwnerReferences), maxKeptValues)])
	for i := range kept.OwnerReferences {
		owner := &kept.OwnerReferences[i]
		owner.APIVersion, owner.Kind, owner.Name = truncate.Cut(owner.APIVersion, maxKeptValue), truncate.Cut(owner.Kind, maxKeptValue), truncate.Cut(owner.Name, maxKeptValue)
	}
	return kept
}

// sizeOf is how many bytes the parts of metadata have that may be large.
func sizeOf(object *metav1.PartialObjectMetadata) int {
	size := 0
	for _, values := range []map[string]string{object.Labels, object.Annotations} {
		for key, value := range values {
			size += len(key) + len(value)
		}
	}
	for _, finalizer := range object.Finalizers {
		size += len(finalizer)
	}
	for i := range object.OwnerReferences {
		owner := &object.OwnerReferences[i]
		size += len(owner.APIVersion) + len(owner.Kind) + len(owner.Name) + len(owner.UID)
	}
	for i := range object.ManagedFields {
		entry := &object.ManagedFields[i]
		size += len(entry.Manager) + len(entry.APIVersion) + len(entry.Operation) + len(entry.FieldsType) + len(entry.Subresource)
		if entry.FieldsV1 != nil {
			size += len(entry.FieldsV1.GetRawBytes())
		}
	}
	return size
}

// shortValues leaves out what is too long, and everything beyond a number.
func shortValues(values map[string]string) map[string]string {
	short := map[string]string{}
	for key, value := range values {
		if len(key)+len(value) <= maxKeptValue && len(short) < maxKeptValues {
			short[key] = value
		}
	}
	return short
}

// CheckIdentifiers refuses what no API server sends, and would be kept.
func CheckIdentifiers(uid types.UID, version string) error {
	if len(uid) > maxIdentifier || len(version) > maxIdentifier {
		return fmt.Errorf("an object has a uid of %d bytes and a resource version of %d, and no more than %d are expected; "+
			"look at what answers at the cluster's address", len(uid), len(version), maxIdentifier)
	}
	return nil
}
