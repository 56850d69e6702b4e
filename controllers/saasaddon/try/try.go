// Package try renders what an add-on is made of for one of its clusters, to find out whether it can be rendered at all. It
// imports no fleet and asks no cluster: what only a cluster can tell is not decided here.
package try

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/addoncontent"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/clusterstate"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/trial"
	"github.com/daytwo-dev/daytwo/controllers/internal/render"
	"github.com/daytwo-dev/daytwo/controllers/internal/render/manifest"
)

// Renderer renders in worker processes.
type Renderer interface {
	Render(ctx context.Context, request render.Request) ([]*unstructured.Unstructured, error)
	RenderChart(ctx context.Context, request render.ChartRequest) (*render.RenderedChart, error)
}

// Trier tries revisions of add-ons.
type Trier struct {
	// Client reads from the manager's cache, APIReader from the API server.
	Client    client.Reader
	APIReader client.Reader
	Renderer  Renderer
}

// Trial implements policy.TriedKind. It renders in the share of the add-on's namespace, whosever the clusters are.
func (t Trier) Trial(ctx context.Context, revision types.NamespacedName) (trial.Try, error) {
	content, err := addoncontent.Read(ctx, t.APIReader, revision)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, key rollout.ClusterKey) error {
		cluster := &tenancyv1alpha1.TenantCluster{}
		if err := t.Client.Get(ctx, types.NamespacedName(key), cluster); err != nil {
			return fmt.Errorf("read TenantCluster %s/%s: %w", key.Namespace, key.Name, err)
		}
		if content.Chart != nil {
			return t.chart(ctx, content, ClusterOf(cluster), revision.Namespace)
		}
		return t.manifests(ctx, content, ClusterOf(cluster), revision.Namespace)
	}, nil
}

func (t Trier) manifests(ctx context.Context, content addoncontent.Content, cluster render.Cluster, tenant string) error {
	request := content.Request(cluster)
	request.Tenant = tenant
	_, err := t.Renderer.Render(ctx, request)
	return Refused(err)
}

// chart tries the values of a chart. What its templates make of them may depend on what a cluster serves and has, so that the failure
// of a template refuses nothing.
func (t Trier) chart(ctx context.Context, content addoncontent.Content, cluster render.Cluster, tenant string) error {
	request := content.ChartRequest(cluster)
	request.Tenant = tenant
	_, err := t.Renderer.RenderChart(ctx, request)
	switch reason, _ := manifest.ReasonOf(err); reason {
	case manifest.ValuesInvalid, manifest.ChartIncompatible, manifest.ReleaseInvalid, "":
		return Refused(err)
	}
	return nil
}

// Refused is what a failed rendering says of the content.
func Refused(err error) error {
	var failure *manifest.Error
	if !errors.As(err, &failure) {
		return err
	}
	costly := failure.Reason == manifest.TimeLimitExceeded || failure.Reason == manifest.MemoryLimitExceeded
	return &trial.Refusal{Message: failure.Message, Costly: costly}
}

// ClusterOf is what templates know of a cluster.
func ClusterOf(cluster *tenancyv1alpha1.TenantCluster) render.Cluster {
	parameters := clusterstate.ParametersOf(cluster)
	return render.Cluster{Name: cluster.Name, Namespace: cluster.Namespace, Labels: parameters.Labels, Version: parameters.Version}
}
