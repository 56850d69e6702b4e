package addonrelease

import (
	"context"
	"encoding/json"
	"fmt"

	"golang.org/x/sync/singleflight"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/render"
	"github.com/daytwo-dev/daytwo/controllers/internal/revision"
)

const (
	// cachedRevisions and cachedSets bound the caches by number, maxCachedSet in bytes: what is larger
	// is rendered anew whenever it is needed.
	cachedRevisions = 16
	cachedSets      = 256
	maxCachedSet    = 512 << 10
)

// caches hold what can be had again. Safe for concurrent use.
type caches struct {
	revisions *lru.Cache
	sets      *lru.Cache
	// reading lets the targets of a rollout, which all ask for one revision, share one read of it.
	reading *singleflight.Group
}

func newCaches() caches {
	return caches{revisions: lru.New(cachedRevisions), sets: lru.New(cachedSets), reading: &singleflight.Group{}}
}

// setKey tells apart what the same inputs give in different clusters: kinds and their scope.
type setKey struct {
	release   types.NamespacedName
	inputs    string
	clusterID types.UID
}

// desired returns the objects of a release's revision, as they should be in its cluster.
func (r *Reconciler) desired(ctx context.Context, release *addonsv1alpha1.AddonRelease, inputs string, cluster clusterView) ([]desired, error) {
	key := setKey{release: types.NamespacedName{Namespace: release.Namespace, Name: release.Name}, inputs: inputs, clusterID: cluster.Identity()}
	if cached, ok := r.caches.sets.Get(key); ok {
		return cached.([]desired), nil
	}
	content, err := r.content(ctx, types.NamespacedName{Namespace: release.Namespace, Name: release.Spec.Revision})
	if err != nil {
		return nil, err
	}
	request := render.Request{Cluster: render.Cluster{
		Name: release.Spec.ClusterRef.Name, Namespace: release.Spec.ClusterRef.Namespace,
		Labels: release.Spec.Cluster.Labels, Version: release.Spec.Cluster.Version,
	}}
	for _, source := range content.Sources {
		request.Sources = append(request.Sources, render.Source{Name: source.Name, Text: source.Text})
	}
	list, err := r.Renderer.Render(ctx, request)
	if err != nil {
		return nil, err
	}
	if err := scopeObjects(ctx, cluster, list, content.Namespace); err != nil {
		return nil, err
	}
	implied := newNamespace(content.Namespace)
	if !content.CreateNamespace {
		implied = nil
	}
	set, err := prepare(list, r.Installation, implied)
	if err != nil {
		return nil, err
	}
	if size(set) <= maxCachedSet {
		r.caches.sets.Add(key, set)
	}
	return set, nil
}

func (r *Reconciler) content(ctx context.Context, key types.NamespacedName) (revision.AddonContent, error) {
	if cached, ok := r.caches.revisions.Get(key); ok {
		return cached.(revision.AddonContent), nil
	}
	shared, err, _ := r.caches.reading.Do(key.String(), func() (any, error) {
		var content revision.AddonContent
		raw, err := revision.Read(ctx, r.Reader, key)
		if err != nil {
			return content, err
		}
		if err := json.Unmarshal(raw, &content); err != nil {
			return content, fmt.Errorf("revision %s: %w", key, err)
		}
		r.caches.revisions.Add(key, content)
		return content, nil
	})
	content, _ := shared.(revision.AddonContent)
	return content, err
}

func size(set []desired) int {
	total := 0
	for _, d := range set {
		total += len(d.body)
	}
	return total
}
