package localfleet

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/daytwo-dev/daytwo/tools/local/internal/component"
	"github.com/daytwo-dev/daytwo/tools/local/manifests"
)

// providerDefinitions are those of the provider's kinds, which are generated from
// its types; see package v1alpha1.
//
//go:embed clusterapi/crds/*.yaml
var providerDefinitions embed.FS

// InstallClusterAPI applies the definitions of Cluster API to the management
// cluster, and no more; Options.ClusterAPI brings up the whole. Its conversion
// webhook does not run here: all versions are stored and served as they are
// written.
func (f *Fleet) InstallClusterAPI(ctx context.Context) error {
	definitions, err := f.clusterAPIDefinitions(ctx, map[string]any{"strategy": "None"})
	if err != nil {
		return err
	}
	if err := manifests.Apply(ctx, f.Management().Config(), definitions); err != nil {
		return fmt.Errorf("install Cluster API's definitions: %w", err)
	}
	f.progressf("installed %d definitions of Cluster API", len(definitions))
	return nil
}

// installClusterAPI applies all that Cluster API and the provider need, before
// they run.
func (f *Fleet) installClusterAPI(ctx context.Context, ports clusterAPIState) error {
	server, err := f.webhookServer(clusterAPIName, ports.WebhookPort)
	if err != nil {
		return err
	}
	definitions, err := f.clusterAPIDefinitions(ctx, map[string]any{
		"strategy": "Webhook",
		"webhook": map[string]any{
			"conversionReviewVersions": []any{"v1"},
			"clientConfig":             server.clientConfig("/convert"),
		},
	})
	if err != nil {
		return err
	}
	own, err := parseAll(providerDefinitions)
	if err != nil {
		return err
	}
	webhooks, err := f.clusterAPIWebhooks(ctx, server)
	if err != nil {
		return err
	}
	return manifests.Apply(ctx, f.Management().Config(), slices.Concat(definitions, own, webhooks))
}

func (f *Fleet) clusterAPIDefinitions(ctx context.Context, conversion map[string]any) ([]*unstructured.Unstructured, error) {
	dir, err := f.components.Files(ctx, component.ClusterAPICRDs)
	if err != nil {
		return nil, err
	}
	objects, err := manifests.Load(dir)
	if err != nil {
		return nil, err
	}
	for _, object := range objects {
		if err := unstructured.SetNestedMap(object.Object, conversion, "spec", "conversion"); err != nil {
			return nil, err
		}
	}
	return objects, nil
}

// clusterAPIWebhooks returns the configurations of Cluster API's webhooks, under
// the names that they have in its releases.
func (f *Fleet) clusterAPIWebhooks(ctx context.Context, server webhookServer) ([]*unstructured.Unstructured, error) {
	dir, err := f.components.Files(ctx, component.ClusterAPIWebhooks)
	if err != nil {
		return nil, err
	}
	configurations, err := manifests.Load(dir)
	if err != nil {
		return nil, err
	}
	for _, configuration := range configurations {
		configuration.SetName("capi-" + configuration.GetName())
		if err := server.take(configuration); err != nil {
			return nil, fmt.Errorf("%s: %w", configuration.GetName(), err)
		}
	}
	return configurations, nil
}

// parseAll reads the objects of all files.
func parseAll(files fs.FS) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	err := fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(files, path)
		if err != nil {
			return err
		}
		parsed, err := manifests.Parse(content)
		objects = append(objects, parsed...)
		return err
	})
	return objects, err
}
