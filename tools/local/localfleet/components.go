package localfleet

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/daytwo-dev/daytwo/tools/local/internal/component"
)

// prebuiltVariable names a directory of prebuilt binaries, as it does for
// controller-runtime's envtest.
const prebuiltVariable = "KUBEBUILDER_ASSETS"

// buildVariable tells whether programs are downloaded that their publishers offer: with buildFromSource none is.
const (
	buildVariable   = "BUILD"
	buildFromSource = "source"
)

// kubectl is the name of the binary.
const kubectl = "kubectl"

// provideComponents downloads or builds what is missing before anything is started, in the order in which it is needed.
func (f *Fleet) provideComponents(ctx context.Context, options Options) error {
	parts := partsOfClusters(options.Bare)
	if options.Velero || f.storageState() != nil {
		parts = append(parts, partsOfVelero()...)
	}
	if options.CertManager || f.certManagerState() != nil {
		parts = append(parts, partsOfCertManager()...)
	}
	if options.ClusterAPI || f.hasClusterAPI() {
		parts = append(parts, partsOfClusterAPI()...)
		if !options.VersionsLater {
			parts = append(parts, partsOfVersions(f.KubernetesVersions())...)
		}
	}
	return f.components.Provide(ctx, parts...)
}

// ProvideVersions downloads or builds what Options.VersionsLater left out. Whatever else runs on this machine goes first.
// Progress is told what happens, as Options.Components is.
func (f *Fleet) ProvideVersions(ctx context.Context, progress io.Writer) error {
	store := f.components
	store.Background, store.Progress = true, &lineWriter{out: progress, transient: true}
	return store.Provide(ctx, partsOfVersions(f.KubernetesVersions())...)
}

// Build provides all components without starting anything, as a preparation for
// later runs, and returns the paths of the binaries: those of a fleet without
// Cluster API, in the newest version, and kubectl.
func Build(ctx context.Context, progress io.Writer) ([]string, error) {
	store, err := openStore(progress)
	if err != nil {
		return nil, err
	}
	versions, err := store.Versions(apiServer)
	if err != nil {
		return nil, err
	}
	err = store.Provide(ctx, slices.Concat(partsOfClusters(false), []component.Part{{Program: kubectl}},
		partsOfVelero(), partsOfCertManager(), partsOfClusterAPI(), partsOfVersions(versions))...)
	if err != nil {
		return nil, err
	}
	var built []string
	for _, binary := range []string{etcdName, apiServer, controllers, scheduler, kwok, kubectl} {
		path, err := store.Binary(ctx, binary)
		if err != nil {
			return nil, err
		}
		built = append(built, path)
	}
	return built, nil
}

// Kubectl provides kubectl, in the newest version, and returns its path.
func Kubectl(ctx context.Context, progress io.Writer) (string, error) {
	store, err := openStore(progress)
	if err != nil {
		return "", err
	}
	return store.Binary(ctx, kubectl)
}

func openStore(progress io.Writer) (component.Store, error) {
	cache, err := cacheDir()
	if err != nil {
		return component.Store{}, err
	}
	return newStore(cache, "", newLineWriter(progress))
}

func partsOfClusters(bare bool) []component.Part {
	parts := []component.Part{{Program: etcdName}, {Program: apiServer}}
	if bare {
		return parts
	}
	return append(parts, component.Part{Program: controllers}, component.Part{Program: scheduler},
		component.Part{Program: kwok}, component.Part{Files: component.KwokStages})
}

// partsOfClusterAPI are Cluster API and the provider, without the versions of Kubernetes that clusters can be ordered in.
func partsOfClusterAPI() []component.Part {
	return []component.Part{
		{Program: kwok}, {Files: component.KwokStages}, {Program: clusterAPIManager}, {Program: localProvider},
		{Files: component.ClusterAPICRDs}, {Files: component.ClusterAPIWebhooks},
	}
}

// partsOfVersions are what clusters are made of that have these versions.
func partsOfVersions(versions []string) (parts []component.Part) {
	for _, version := range versions {
		parts = append(parts, component.Part{Program: apiServer, Version: version})
	}
	return parts
}

// partsOfVelero are Velero and its storage.
func partsOfVelero() []component.Part {
	return []component.Part{{Program: s3Gateway}, {Program: velero}, {Program: veleroPlugin}, {Files: component.VeleroCRDs}}
}

func partsOfCertManager() []component.Part {
	return []component.Part{{Program: certManagerName}, {Files: component.CertManagerCRDs}}
}

// newStore looks for the modules of components if sourceDir is "".
func newStore(cache, sourceDir string, progress io.Writer) (component.Store, error) {
	prebuilt := os.Getenv(prebuiltVariable)
	if absolute, err := filepath.Abs(prebuilt); prebuilt != "" && err == nil {
		prebuilt = absolute
	}
	store := component.Store{
		CacheDir:    filepath.Join(cache, "components"),
		SourceDir:   sourceDir,
		PrebuiltDir: prebuilt,
		Progress:    progress,
	}
	source, err := store.Source()
	if err != nil || os.Getenv(buildVariable) == buildFromSource {
		return store, nil // Without sources, which say what to have, only prebuilt programs can be had.
	}
	store.Downloads, err = component.NewDownloads(source)
	return store, err
}
