package ownership

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/daytwo-dev/daytwo/apis/common"
)

// Controllers are the field managers whose changes are expected on objects that Daytwo owns.
type Controllers sets.Set[string]

// DefaultControllers are the field managers of Kubernetes' own components, and of cert-manager's
// injector, which fills in the caBundle of webhooks and CRDs.
func DefaultControllers() []string {
	return []string{
		"cert-manager-cainjector",
		"cloud-controller-manager",
		"cluster-autoscaler",
		"kube-apiserver",
		"kube-controller-manager",
		"kube-scheduler",
		"kubelet",
	}
}

// NewControllers makes a set of field managers.
func NewControllers(names ...string) Controllers {
	return Controllers(sets.New(names...))
}

func (c Controllers) has(manager string) bool {
	return sets.Set[string](c).Has(manager)
}

// Ours returns the index of Daytwo's own entry, or -1.
func Ours(entries []metav1.ManagedFieldsEntry) int {
	for i := range entries {
		if IsOurs(&entries[i]) {
			return i
		}
	}
	return -1
}

// IsOurs says whether an entry is what Daytwo applied.
func IsOurs(entry *metav1.ManagedFieldsEntry) bool {
	return entry.Manager == common.FieldManager && entry.Operation == metav1.ManagedFieldsOperationApply && entry.Subresource == ""
}

// Foreign returns the entries that tell of a change by somebody else, of a field that is not spared.
func (c Controllers) Foreign(entries []metav1.ManagedFieldsEntry, spare Spare) []metav1.ManagedFieldsEntry {
	var foreign []metav1.ManagedFieldsEntry
	for _, i := range c.foreignIndices(entries, spare) {
		foreign = append(foreign, entries[i])
	}
	return foreign
}

func (c Controllers) foreignIndices(entries []metav1.ManagedFieldsEntry, spare Spare) []int {
	var indices []int
	for i := range entries {
		if c.isForeign(&entries[i]) && !spare.all(&entries[i]) {
			indices = append(indices, i)
		}
	}
	return indices
}

func (c Controllers) isForeign(entry *metav1.ManagedFieldsEntry) bool {
	return entry.Subresource == "" && !IsOurs(entry) && !c.has(entry.Manager)
}

// Scaler returns the entry through which the number of replicas was set by way of the scale
// subresource, and whether a known controller (an autoscaler, through kube-controller-manager) did it.
func (c Controllers) Scaler(entries []metav1.ManagedFieldsEntry) (entry *metav1.ManagedFieldsEntry, byController bool) {
	replicas := fieldpath.MakePathOrDie("spec", "replicas")
	for i := range entries {
		if entries[i].Subresource != "scale" {
			continue
		}
		if set, err := Fields(&entries[i]); err == nil && set.Has(replicas) {
			return &entries[i], c.has(entries[i].Manager)
		}
	}
	return nil, false
}

// Fields returns the fields that an entry owns.
func Fields(entry *metav1.ManagedFieldsEntry) (*fieldpath.Set, error) {
	set := fieldpath.NewSet()
	if entry.FieldsV1 == nil {
		return set, nil
	}
	if err := set.FromJSON(entry.FieldsV1.GetRawReader()); err != nil {
		return nil, fmt.Errorf("read the fields of manager %q: %w", entry.Manager, err)
	}
	return set, nil
}

// OwnFields returns the fields that Daytwo owns; the empty set if it owns none.
func OwnFields(entries []metav1.ManagedFieldsEntry) (*fieldpath.Set, error) {
	if i := Ours(entries); i >= 0 {
		return Fields(&entries[i])
	}
	return fieldpath.NewSet(), nil
}
