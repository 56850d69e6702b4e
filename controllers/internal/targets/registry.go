package targets

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

// Registry of the kinds. The order of the kinds is that in which messages name them.
type Registry []*Kind

// Kind finds a kind by its group and name; nil if it is not registered.
func (r Registry) Kind(groupKind schema.GroupKind) *Kind {
	for _, kind := range r {
		if kind.GroupKind() == groupKind {
			return kind
		}
	}
	return nil
}

// In lists what works in a cluster, by way of a reader of the cache or of the API server: by kind, then by name.
func (r Registry) In(ctx context.Context, reader client.Reader, cluster types.NamespacedName) ([]Member, error) {
	var found []Member
	for _, kind := range r {
		members, err := kind.listIn(ctx, reader, cluster)
		if err != nil {
			return nil, fmt.Errorf("list the %ss in TenantCluster %s: %w", kind.Kind, cluster, err)
		}
		found = append(found, members...)
	}
	return found, nil
}

// Any names one object that works in a cluster, by as little as one request a kind; the kind is nil if there is none.
func (r Registry) Any(ctx context.Context, reader client.Reader, cluster types.NamespacedName) (*Kind, client.ObjectKey, error) {
	for _, kind := range r {
		key, found, err := kind.anyIn(ctx, reader, cluster)
		if err != nil {
			return nil, client.ObjectKey{}, fmt.Errorf("look for %ss in TenantCluster %s: %w", kind.Kind, cluster, err)
		}
		if found {
			return kind, key, nil
		}
	}
	return nil, client.ObjectKey{}, nil
}

// listIn lists the objects of the kind that work in a cluster. Targets have labels that name their cluster. Of a kind
// without a policy all are read: there are few, and their clusters are in their status.
func (k *Kind) listIn(ctx context.Context, reader client.Reader, cluster types.NamespacedName) ([]Member, error) {
	if k.Policy != nil {
		return k.list(ctx, reader, labelsOf(cluster))
	}
	members, err := k.list(ctx, reader)
	return slices.DeleteFunc(members, func(member Member) bool { return !slices.Contains(member.Clusters, cluster) }), err
}

func (k *Kind) anyIn(ctx context.Context, reader client.Reader, cluster types.NamespacedName) (client.ObjectKey, bool, error) {
	if k.Policy == nil {
		members, err := k.listIn(ctx, reader, cluster)
		if err != nil || len(members) == 0 {
			return client.ObjectKey{}, false, err
		}
		return members[0].Key(), true, nil
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(k.GroupVersion().WithKind(k.Kind + "List"))
	if err := reader.List(ctx, list, labelsOf(cluster), client.Limit(1)); err != nil || len(list.Items) == 0 {
		return client.ObjectKey{}, false, err
	}
	return client.ObjectKeyFromObject(&list.Items[0]), true, nil
}

func labelsOf(cluster types.NamespacedName) client.MatchingLabels {
	return client.MatchingLabels{metav1alpha1.LabelCluster: cluster.Name, metav1alpha1.LabelClusterNamespace: cluster.Namespace}
}

// ResponsibleFor says whom a person should talk to about what an object has in a cluster: its policy, where it has one that
// is known. The object is read from the cache, by the name of its kind, as in "AddonRelease".
func (r Registry) ResponsibleFor(ctx context.Context, cache client.Reader, kind string, key client.ObjectKey) string {
	for _, one := range r {
		if one.Kind != kind {
			continue
		}
		object := one.New()
		if err := cache.Get(ctx, key, object); err != nil {
			break
		}
		if policy, has := one.Member(object).PolicyKey(); has {
			return one.Policy.Kind + " " + policy.String()
		}
	}
	return kind + " " + key.String()
}

func (k *Kind) list(ctx context.Context, reader client.Reader, options ...client.ListOption) ([]Member, error) {
	list := k.NewList()
	if err := reader.List(ctx, list, append(options, client.UnsafeDisableDeepCopy)...); err != nil {
		return nil, err
	}
	var members []Member
	err := meta.EachListItem(list, func(item runtime.Object) error {
		members = append(members, k.Member(item.(client.Object)))
		return nil
	})
	slices.SortFunc(members, func(a, b Member) int {
		return cmp.Or(strings.Compare(a.GetNamespace(), b.GetNamespace()), strings.Compare(a.GetName(), b.GetName()))
	})
	return members, err
}
