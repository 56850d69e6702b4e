package orphans

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/truncate"
)

// Bounds of texts, in bytes; the CRD bounds as many characters.
const (
	maxMessage       = 1024
	maxObjectMessage = 256
	maxID            = 1024
)

// maxBytes of a record, well below the 1.5 MiB that etcd takes by default. An inventory that fits into the status of its
// target fits into a record.
const maxBytes = 1 << 20

// newRecord returns the record of a spec, whose name follows from whose objects were in which cluster: the same is
// recorded once, whatever the reason.
func newRecord(namespace string, spec tenancyv1alpha1.OrphanRecordSpec) *tenancyv1alpha1.OrphanRecord {
	record := &tenancyv1alpha1.OrphanRecord{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: nameOf(spec),
			Labels: map[string]string{metav1alpha1.LabelCluster: spec.ClusterName, metav1alpha1.LabelClusterNamespace: namespace},
		},
		Spec: spec,
	}
	tidy(record)
	return record
}

func nameOf(spec tenancyv1alpha1.OrphanRecordSpec) string {
	owner := spec.Owner
	sum := sha256.Sum256([]byte(strings.Join([]string{
		spec.ClusterName, spec.ClusterID, owner.Group, owner.Kind, owner.Namespace, owner.Name, partOf(spec.Reason),
	}, "\n")))
	return spec.ClusterName + "." + hex.EncodeToString(sum[:4])
}

// partOf an owner's objects that a reason is about. One owner may leave several parts, each for a reason of its own.
func partOf(reason tenancyv1alpha1.OrphanReason) string {
	switch reason {
	case tenancyv1alpha1.OrphanKept, tenancyv1alpha1.OrphanVolumes, tenancyv1alpha1.OrphanNoFinalBackup:
		return string(reason)
	}
	return ""
}

// ByAge orders records, the oldest first.
func ByAge(a, b tenancyv1alpha1.OrphanRecord) int {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
}

// Count is how many objects a record stands for.
func Count(spec tenancyv1alpha1.OrphanRecordSpec) int {
	return len(spec.Objects) + int(spec.MoreObjects)
}

// Describe names the first few objects of a record.
func Describe(spec tenancyv1alpha1.OrphanRecordSpec) string {
	const shown, bytes, separator = 5, 512, ", "
	var names []string
	length := 0
	for _, object := range spec.Objects[:min(len(spec.Objects), shown)] {
		if len(names) > 0 && length+len(object.ID) > bytes {
			break
		}
		names = append(names, truncate.Cut(object.ID, bytes))
		length += len(separator) + len(object.ID)
	}
	return truncate.First(names, separator, Count(spec))
}

// join adds the objects of a record that is stored already.
func join(spec *tenancyv1alpha1.OrphanRecordSpec, before tenancyv1alpha1.OrphanRecordSpec) {
	total := max(Count(*spec), Count(before))
	spec.Objects = slices.Clone(spec.Objects)
	listed := make(map[string]bool, len(spec.Objects))
	for _, object := range spec.Objects {
		listed[object.ID] = true
	}
	for _, object := range before.Objects {
		if !listed[object.ID] {
			spec.Objects = append(spec.Objects, object)
		}
	}
	spec.MoreObjects = int32(max(total-len(spec.Objects), 0)) //nolint:gosec // Both counts are bounded by the CRD.
}

// tidy brings a record within its bounds, and into its order.
func tidy(record *tenancyv1alpha1.OrphanRecord) {
	spec := &record.Spec
	spec.Message = truncate.Message(spec.Message, maxMessage)
	kept := make([]tenancyv1alpha1.OrphanObject, 0, len(spec.Objects))
	for _, object := range spec.Objects {
		if len(object.ID) > maxID {
			spec.MoreObjects++
			continue
		}
		object.Message = truncate.Message(object.Message, maxObjectMessage)
		kept = append(kept, object)
	}
	slices.SortFunc(kept, func(a, b tenancyv1alpha1.OrphanObject) int {
		return cmp.Or(strings.Compare(a.ID, b.ID), strings.Compare(a.UID, b.UID))
	})
	spec.Objects = kept
	shorten(spec, tenancyv1alpha1.MaxOrphanObjects)
	if sizeOf(spec) > maxBytes {
		for i := range spec.Objects {
			spec.Objects[i].Message = ""
		}
	}
	for sizeOf(spec) > maxBytes {
		shorten(spec, len(spec.Objects)/2)
	}
	record.Status.Objects = int32(Count(*spec)) //nolint:gosec // Bounded by the CRD.
}

// shorten lists so many objects at most, and counts the others.
func shorten(spec *tenancyv1alpha1.OrphanRecordSpec, most int) {
	if excess := len(spec.Objects) - most; excess > 0 {
		spec.Objects = spec.Objects[:most]
		spec.MoreObjects += int32(excess) //nolint:gosec // An inventory has at most some thousand objects.
	}
}

func sizeOf(spec *tenancyv1alpha1.OrphanRecordSpec) int {
	encoded, _ := json.Marshal(spec) // A struct of texts and numbers.
	return len(encoded)
}
