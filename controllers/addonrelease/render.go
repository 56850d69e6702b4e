package addonrelease

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/maypok86/otter/v2"
	"golang.org/x/sync/singleflight"
	"k8s.io/apimachinery/pkg/types"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/render"
	"github.com/daytwo-dev/daytwo/controllers/internal/revision"
)

// How much the caches hold at most, in bytes of content. What does not fit is read or rendered anew
// whenever it is needed.
const (
	maxRevisions = 32 << 20
	maxSets      = 64 << 20
)

// caches hold what can be had again. Safe for concurrent use.
type caches struct {
	revisions *otter.Cache[types.NamespacedName, revision.AddonContent]
	sets      *otter.Cache[setKey, []desired]
	// reading lets the targets of a rollout, which all ask for one revision, share one read of it.
	reading *singleflight.Group
}

func newCaches() caches {
	return caches{
		revisions: otter.Must(&otter.Options[types.NamespacedName, revision.AddonContent]{
			MaximumWeight: maxRevisions,
			Weigher:       func(_ types.NamespacedName, content revision.AddonContent) uint32 { return uint32(content.Size()) },
		}),
		sets: otter.Must(&otter.Options[setKey, []desired]{
			MaximumWeight: maxSets,
			Weigher:       func(_ setKey, set []desired) uint32 { return uint32(size(set)) },
		}),
		reading: &singleflight.Group{},
	}
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
	if cached, ok := r.caches.sets.GetIfPresent(key); ok {
		return cached, nil
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
	r.caches.sets.Set(key, set)
	return set, nil
}

func (r *Reconciler) content(ctx context.Context, key types.NamespacedName) (revision.AddonContent, error) {
	if cached, ok := r.caches.revisions.GetIfPresent(key); ok {
		return cached, nil
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
		r.caches.revisions.Set(key, content)
		return content, nil
	})
	content, _ := shared.(revision.AddonContent)
	return content, err
}

// size in bytes, with what an object costs beside its body.
func size(set []desired) int {
	const overhead = 256
	total := 0
	for _, d := range set {
		total += len(d.body) + overhead
	}
	return total
}
