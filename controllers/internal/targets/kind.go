package targets

import (
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/helm"
)

// Kind is a kind of objects that work in workload clusters.
type Kind struct {
	schema.GroupVersionKind
	// New returns an empty object, NewList an empty list of them.
	New     func() client.Object
	NewList func() client.ObjectList
	// Policy is the kind that writes these objects, and deletes them; nil if people do.
	Policy *PolicyKind
	// View reads from an object what the registry tells of it.
	View func(client.Object) View
}

// PolicyKind is a kind of policies.
type PolicyKind struct {
	schema.GroupVersionKind
	// New returns an empty policy, NewList an empty list of them.
	New     func() metav1alpha1.Policy
	NewList func() client.ObjectList
}

// Pair is a kind of targets and the kind of policies that writes them: an empty object and an empty list of each, whose types
// have the names of the kinds.
type Pair[T metav1alpha1.Target] struct {
	Target   T
	Targets  client.ObjectList
	Policy   metav1alpha1.Policy
	Policies client.ObjectList
}

// Kind is the kind of targets of a pair.
func (p Pair[T]) Kind(group schema.GroupVersion, holdings func(T) Holdings) *Kind {
	return &Kind{
		GroupVersionKind: group.WithKind(nameOf(p.Target)),
		New:              func() client.Object { return p.Target.DeepCopyObject().(client.Object) },
		NewList:          func() client.ObjectList { return p.Targets.DeepCopyObject().(client.ObjectList) },
		Policy: &PolicyKind{
			GroupVersionKind: group.WithKind(nameOf(p.Policy)),
			New:              func() metav1alpha1.Policy { return p.Policy.DeepCopyObject().(metav1alpha1.Policy) },
			NewList:          func() client.ObjectList { return p.Policies.DeepCopyObject().(client.ObjectList) },
		},
		View: func(object client.Object) View { return ViewOf(object.(T), holdings(object.(T))) },
	}
}

// nameOf an object's type, which is how a scheme names kinds too.
func nameOf(object any) string { return reflect.TypeOf(object).Elem().Name() }

// View is what the registry tells of an object.
type View struct {
	// Clusters are the TenantClusters in which the object works. A run may learn of one of them late.
	Clusters []types.NamespacedName
	// RemovedSince is since when the object removes what it has in its clusters; zero if it does not.
	RemovedSince time.Time
	// Ready is whether all is well with the object.
	Ready bool
	// Applied is whether the object, as it is now, has found in its clusters what is its own there.
	Applied bool
	// Holdings are what the object has in its clusters.
	Holdings Holdings
	// Backup is how the backups stand that the object has made of its cluster; nil for an object that has none made.
	Backup *Backup
}

// Backup is how the backups of a cluster stand.
type Backup struct {
	// DataOf is when the last good one began: its data is not younger. It is zero if there is none.
	DataOf time.Time
	// Requested is the value of the annotation daytwo.dev/backup-now.
	Requested string
	// Answered is the value of it for which a backup was made last, and Problem why that is not a good one; empty if it is.
	Answered, Problem string
}

// Holdings are what an object has, or is about to have, in its clusters.
type Holdings struct {
	// Objects are by name; those that were only planned have no UID.
	Objects []metav1alpha1.InventoryEntry
	// HelmRelease whose history the object goes on with; nil for none.
	HelmRelease *helm.Release
	// HelmRecord is the record of that release; nil if there is none yet.
	HelmRecord *metav1alpha1.InventoryEntry
}

// ViewOf is the View of a target with these holdings.
func ViewOf(target metav1alpha1.Target, holdings Holdings) View {
	ref, conditions := target.GetTargetSpec().ClusterRef, target.GetTargetStatus().Conditions
	applied := meta.FindStatusCondition(conditions, metav1alpha1.ConditionApplied)
	var removedSince time.Time
	if deleted := target.GetDeletionTimestamp(); deleted != nil {
		removedSince = deleted.Time
	}
	return View{
		RemovedSince: removedSince,
		Clusters:     []types.NamespacedName{{Namespace: ref.Namespace, Name: ref.Name}},
		Ready:        meta.IsStatusConditionTrue(conditions, metav1alpha1.ConditionReady),
		Applied:      applied != nil && applied.Status == metav1.ConditionTrue && applied.ObservedGeneration == target.GetGeneration(),
		Holdings:     holdings,
	}
}

// Member is an object of a registered kind. It belongs to the cache that it was read from.
type Member struct {
	client.Object
	View
	// Kind of the object.
	Kind *Kind
}

// Member is what the registry tells of an object of the kind.
func (k *Kind) Member(object client.Object) Member {
	return Member{Object: object, View: k.View(object), Kind: k}
}

// String names a member for people, as in "AddonRelease acme/cache-prod".
func (m Member) String() string { return m.Kind.Kind + " " + m.Key().String() }

// Key is the name of the object and its namespace.
func (m Member) Key() client.ObjectKey { return client.ObjectKeyFromObject(m.Object) }

// PolicyKey names the policy that wrote the object; false if none did.
func (m Member) PolicyKey() (client.ObjectKey, bool) {
	key := client.ObjectKey{Namespace: m.GetNamespace(), Name: m.GetLabels()[metav1alpha1.LabelPolicy]}
	return key, m.Kind.Policy != nil && key.Name != ""
}
