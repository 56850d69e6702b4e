// Package preview renders at admission what stands in an add-on itself, its inline manifests and values, for one of its clusters.
// What the add-on only names is left to the trial before the rollout (package try): it may be another by then, and the one who writes
// need not be allowed to read it.
package preview

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/addoncontent"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/trial"
	"github.com/daytwo-dev/daytwo/controllers/internal/render"
	"github.com/daytwo-dev/daytwo/controllers/internal/selection"
	"github.com/daytwo-dev/daytwo/controllers/saasaddon/try"
)

const (
	// maxTime is how long whoever writes an add-on waits at most.
	maxTime = 2 * time.Second
	// maxOfOne is how many previews of one namespace are under way at a time. More are answered at once.
	maxOfOne = 2
	// anybody is the tenant of requests of which nobody knows whose they are. It is no name of a namespace.
	anybody = "(anybody)"
)

// Renderer renders in worker processes.
type Renderer interface {
	Render(ctx context.Context, request render.Request) ([]*unstructured.Unstructured, error)
}

// Previewer looks at add-ons. Any number of goroutines may use it.
type Previewer struct {
	// Client reads from the manager's cache.
	Client   client.Reader
	Renderer Renderer
	// Serves is whether a cluster serves a kind; an error tells that this is not known. Nil to ask no cluster.
	Serves func(ctx context.Context, cluster types.NamespacedName, kind schema.GroupVersionKind) (bool, error)
	// Render for clusters of the add-on's namespace. Otherwise templates are only read: somebody who is not an API server may ask in
	// anybody's name, and learn from the answers what the labels of their clusters are.
	Render bool

	mu       sync.Mutex
	underway map[string]int
}

// Problem is what is wrong with a field.
type Problem struct{ Field, Message string }

// Preview returns what is wrong with an add-on's content, or a warning: that this could not be found out, or that a cluster does
// not serve what is declared. Neither if it can be applied, as far as that is known.
func (p *Previewer) Preview(ctx context.Context, addon *addonsv1alpha1.SaaSAddon) (problem *Problem, warning string) {
	request, field := requestOf(addon)
	if field == "" {
		return nil, ""
	}
	request.Tenant = addon.Namespace
	if !p.Render {
		request.Tenant = anybody
	}
	if !p.enter(request.Tenant) {
		return nil, unchecked(field, errBusy)
	}
	defer p.leave(request.Tenant)
	ctx, cancel := context.WithTimeoutCause(ctx, maxTime, errSlow)
	defer cancel()
	refused, rendered, err := p.refused(ctx, addon, request)
	switch {
	case err != nil:
		return nil, unchecked(field, err)
	case refused != "":
		return &Problem{Field: field, Message: refused}, ""
	}
	return nil, p.unserved(ctx, addon, rendered)
}

var (
	errBusy = errors.New("others are being looked at")
	errSlow = fmt.Errorf("that takes longer than %s", maxTime)
)

func unchecked(field string, err error) string {
	return fmt.Sprintf("%s was not checked: %v; the add-on's conditions will tell", field, err)
}

// requestOf is what an add-on says itself, and the field where it does; an empty field if that is nothing.
func requestOf(addon *addonsv1alpha1.SaaSAddon) (request render.Request, field string) {
	switch manifests := addon.Spec.Source.Manifests; {
	case manifests != nil && manifests.Inline != "":
		return render.Request{Sources: []render.Source{{Name: "inline", Text: manifests.Inline}}}, addoncontent.Inline
	case addon.Spec.Source.Chart != nil && addon.Spec.Values != nil:
		return render.Request{Values: []render.ValuesLayer{{Name: "values", Text: string(addon.Spec.Values.Raw)}}}, addoncontent.Values
	}
	return render.Request{}, ""
}

// refused says what is wrong: with the syntax, or for all clusters that a trial would look at. If nothing is, it returns what was
// rendered, if it was for a cluster.
func (p *Previewer) refused(ctx context.Context, addon *addonsv1alpha1.SaaSAddon, request render.Request) (string, rendered, error) {
	clusters, err := p.clusters(ctx, addon)
	if err != nil {
		return "", rendered{}, err
	}
	if len(clusters) == 0 {
		request.ParseOnly = true
		_, err := p.render(ctx, request)
		message, err := refusal(err)
		return message, rendered{}, err
	}
	keys := slices.SortedFunc(maps.Keys(clusters), rollout.ClusterKey.Compare)
	var content rendered
	refused, err := trial.Run(ctx, trial.Choose(keys), func(ctx context.Context, key rollout.ClusterKey) error {
		request.Cluster = clusters[key]
		objects, err := p.render(ctx, request)
		content = rendered{cluster: types.NamespacedName(key), objects: objects}
		return err
	})
	switch {
	case err != nil:
		return "", rendered{}, err
	case refused == nil:
		return "", content, nil
	case refused.Tried < len(clusters):
		// The trial may get further in the time that it has.
		return "", rendered{}, fmt.Errorf("for TenantCluster %s it cannot be rendered: %s", refused.Cluster.Name, refused.Message)
	}
	return refused.Message, rendered{}, nil
}

func (p *Previewer) render(ctx context.Context, request render.Request) ([]*unstructured.Unstructured, error) {
	objects, err := p.Renderer.Render(ctx, request)
	if cause := context.Cause(ctx); cause != nil {
		return nil, cause
	}
	return objects, try.Refused(err)
}

func refusal(err error) (string, error) {
	var refused *trial.Refusal
	if errors.As(err, &refused) {
		return refused.Message, nil
	}
	return "", err
}

// clusters of the add-on's namespace that it selects and that are connected; none if they are not to be rendered for.
func (p *Previewer) clusters(ctx context.Context, addon *addonsv1alpha1.SaaSAddon) (map[rollout.ClusterKey]render.Cluster, error) {
	if !p.Render || addon.Spec.ClusterNamespaceSelector != nil {
		return nil, nil
	}
	all := &tenancyv1alpha1.TenantClusterList{}
	if err := p.Client.List(ctx, all, client.InNamespace(addon.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list TenantClusters: %w", err)
	}
	found := map[rollout.ClusterKey]render.Cluster{}
	for i := range all.Items {
		cluster := &all.Items[i]
		connected := meta.IsStatusConditionTrue(cluster.Status.Conditions, tenancyv1alpha1.ConditionConnected)
		if connected && cluster.DeletionTimestamp.IsZero() && selection.Selects(addon, cluster, nil) {
			found[rollout.ClusterKey(types.NamespacedName{Namespace: cluster.Namespace, Name: cluster.Name})] = try.ClusterOf(cluster)
		}
	}
	return found, nil
}

func (p *Previewer) enter(tenant string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.underway[tenant] >= maxOfOne {
		return false
	}
	if p.underway == nil {
		p.underway = map[string]int{}
	}
	p.underway[tenant]++
	return true
}

func (p *Previewer) leave(tenant string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.underway[tenant]--; p.underway[tenant] == 0 {
		delete(p.underway, tenant)
	}
}
