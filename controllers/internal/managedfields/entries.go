package managedfields

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

// Controllers tells our own entries from those of controllers whose changes are expected on objects that
// Daytwo owns, and both from everybody else's.
type Controllers struct {
	self  string
	known sets.Set[string]
}

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

// NewControllers makes it of what our installation calls itself, and the field managers of controllers.
func NewControllers(self string, names ...string) Controllers {
	return Controllers{self: self, known: sets.New(names...)}
}

// ManagerOf is the field manager of an installation of Daytwo: with one name for all, the API server would
// take two that meet in a workload cluster for one, and let the second overwrite the first.
func ManagerOf(installation string) string {
	digest := sha256.Sum256([]byte(installation))
	return metav1alpha1.FieldManager + "-" + hex.EncodeToString(digest[:4])
}

// Self is the field manager under which objects are applied.
func (c Controllers) Self() string { return c.self }

// Ours returns the index of Daytwo's own entry, or -1.
func (c Controllers) Ours(entries []metav1.ManagedFieldsEntry) int {
	for i := range entries {
		if c.IsOurs(&entries[i]) {
			return i
		}
	}
	return -1
}

// IsOurs says whether an entry is what Daytwo applied.
func (c Controllers) IsOurs(entry *metav1.ManagedFieldsEntry) bool {
	return entry.Manager == c.self && entry.Operation == metav1.ManagedFieldsOperationApply && entry.Subresource == ""
}

// Others returns the foreign entries, whatever they may set.
func (c Controllers) Others(entries []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
	var others []metav1.ManagedFieldsEntry
	for i := range entries {
		if c.isForeign(&entries[i]) {
			others = append(others, entries[i])
		}
	}
	return others
}

func (c Controllers) isForeign(entry *metav1.ManagedFieldsEntry) bool {
	return entry.Subresource == "" && !c.IsOurs(entry) && !c.known.Has(entry.Manager)
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
			return &entries[i], c.known.Has(entries[i].Manager)
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
func (c Controllers) OwnFields(entries []metav1.ManagedFieldsEntry) (*fieldpath.Set, error) {
	if i := c.Ours(entries); i >= 0 {
		return Fields(&entries[i])
	}
	return fieldpath.NewSet(), nil
}
