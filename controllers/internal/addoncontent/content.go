// Package addoncontent is the form of a SaaSAddon's revisions: saasaddon writes it, addonrelease reads it. Neither imports
// the other, so what the pair agrees on stands here.
package addoncontent

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/daytwo-dev/daytwo/controllers/internal/policy/revision"
	"github.com/daytwo-dev/daytwo/controllers/internal/render"
)

// The names of texts that stand in the SaaSAddon itself: their fields.
const (
	Inline = "spec.source.manifests.inline"
	Values = "spec.values"
)

// Content is what a revision of a SaaSAddon holds.
type Content struct {
	// Namespace for namespaced objects that name none.
	Namespace string `json:"namespace"`
	// CreateNamespace creates it where it is missing.
	CreateNamespace bool `json:"createNamespace,omitempty"`
	// Sources of manifests, in the order in which they are rendered.
	Sources []render.Source `json:"sources,omitempty"`
	// Chart is the source instead of manifests.
	Chart *Chart `json:"chart,omitempty"`
}

// Read returns the content of a SaaSAddon's revision. Its errors are those of revision.Read.
func Read(ctx context.Context, reader client.Reader, key client.ObjectKey) (Content, error) {
	return revision.ReadAs[Content](ctx, reader, key)
}

// Chart is a Helm chart and what it is installed with.
type Chart struct {
	// Repository, Name, Version and Digest tell where the archive is from.
	Repository string `json:"repository"`
	Name       string `json:"name"`
	Version    string `json:"version"`
	Digest     string `json:"digest"`
	// Archive is the chart itself, so that a revision needs no repository.
	Archive []byte `json:"archive"`
	// Values in the order in which they are merged.
	Values []render.ValuesLayer `json:"values,omitempty"`
	// ReleaseName is the name of the Helm release; its namespace is the content's.
	ReleaseName string `json:"releaseName"`
	// CRDs is the source's spec.source.chart.crds.
	CRDs string `json:"crds"`
	// AsksForAPIs: the chart asks what the cluster serves (.Capabilities.APIVersions).
	AsksForAPIs bool `json:"asksForAPIs,omitempty"`
	// HookTimeout of one hook, in nanoseconds.
	HookTimeout time.Duration `json:"hookTimeout"`
}

// NamespaceToCreate is the namespace to create; empty if there is none to create.
func (c Content) NamespaceToCreate() string {
	if !c.CreateNamespace {
		return ""
	}
	return c.Namespace
}

// Request to render manifests for a cluster.
func (c Content) Request(cluster render.Cluster) render.Request {
	return render.Request{Cluster: cluster, Sources: c.Sources}
}

// ChartRequest is the request to render the chart for a cluster of which nothing is known but its version.
func (c Content) ChartRequest(cluster render.Cluster) render.ChartRequest {
	return render.ChartRequest{
		Archive: c.Chart.Archive, Values: c.Chart.Values, Cluster: cluster,
		Release:      render.Release{Name: c.Chart.ReleaseName, Namespace: c.Namespace, Revision: 1},
		Capabilities: render.Capabilities{KubeVersion: cluster.Version},
	}
}

// Size is how much text it holds, in bytes.
func (c Content) Size() int {
	total := len(c.Namespace)
	for _, source := range c.Sources {
		total += len(source.Name) + len(source.Text)
	}
	if c.Chart != nil {
		total += len(c.Chart.Archive)
		for _, values := range c.Chart.Values {
			total += len(values.Name) + len(values.Text)
		}
	}
	return total
}
