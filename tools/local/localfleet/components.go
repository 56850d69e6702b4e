package localfleet

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/daytwo-dev/daytwo/tools/local/internal/component"
)

// prebuiltVariable names a directory of prebuilt binaries, as it does for
// controller-runtime's envtest.
const prebuiltVariable = "KUBEBUILDER_ASSETS"

// provideComponents builds what is missing before anything is started.
func (f *Fleet) provideComponents(ctx context.Context, options Options) error {
	binaries := []string{"etcd", apiServer}
	if !options.Bare {
		binaries = append(binaries, controllers, scheduler, kwok)
	}
	for _, binary := range binaries {
		if _, err := f.components.Binary(ctx, binary); err != nil {
			return err
		}
	}
	if options.Bare {
		return nil
	}
	_, err := f.components.Files(ctx, component.KwokStages)
	return err
}

// Build provides all components without starting anything, as a preparation for
// later runs, and returns the paths of the binaries: those of a fleet without
// Cluster API, in the newest version, and kubectl.
func Build(ctx context.Context, progress io.Writer) ([]string, error) {
	cache, err := cacheDir()
	if err != nil {
		return nil, err
	}
	store := newStore(cache, progress)
	var built []string
	for _, binary := range []string{"etcd", apiServer, controllers, scheduler, kwok, "kubectl"} {
		path, err := store.Binary(ctx, binary)
		if err != nil {
			return nil, err
		}
		built = append(built, path)
	}
	if err := provideClusterAPI(ctx, store); err != nil {
		return nil, err
	}
	return built, errors.Join(provideVelero(ctx, store), provideCertManager(ctx, store))
}

// Kubectl provides kubectl, in the newest version, and returns its path.
func Kubectl(ctx context.Context, progress io.Writer) (string, error) {
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	return newStore(cache, progress).Binary(ctx, "kubectl")
}

// provideClusterAPI builds what is missing of Cluster API, the provider and all
// versions of Kubernetes that clusters can be ordered in.
func provideClusterAPI(ctx context.Context, store component.Store) error {
	versions, err := store.Versions(apiServer)
	if err != nil {
		return err
	}
	for _, version := range versions {
		if _, err := store.BinaryAt(ctx, apiServer, version); err != nil {
			return err
		}
	}
	for _, binary := range []string{kwok, clusterAPIManager, localProvider} {
		if _, err := store.Binary(ctx, binary); err != nil {
			return err
		}
	}
	for _, files := range []string{component.KwokStages, component.ClusterAPICRDs, component.ClusterAPIWebhooks} {
		if _, err := store.Files(ctx, files); err != nil {
			return err
		}
	}
	return nil
}

// provideVelero builds what is missing of Velero and of its storage.
func provideVelero(ctx context.Context, store component.Store) error {
	for _, binary := range []string{s3Gateway, velero, veleroPlugin} {
		if _, err := store.Binary(ctx, binary); err != nil {
			return err
		}
	}
	_, err := store.Files(ctx, component.VeleroCRDs)
	return err
}

// provideCertManager builds cert-manager if it is missing.
func provideCertManager(ctx context.Context, store component.Store) error {
	if _, err := store.Binary(ctx, certManagerName); err != nil {
		return err
	}
	_, err := store.Files(ctx, component.CertManagerCRDs)
	return err
}

func newStore(cache string, progress io.Writer) component.Store {
	prebuilt := os.Getenv(prebuiltVariable)
	if absolute, err := filepath.Abs(prebuilt); prebuilt != "" && err == nil {
		prebuilt = absolute
	}
	return component.Store{
		CacheDir:    filepath.Join(cache, "components"),
		PrebuiltDir: prebuilt,
		Progress:    progress,
	}
}
