package registry

import (
	"net/http"
	"strings"
	"sync"

	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/repo/v1"
	"sigs.k8s.io/yaml"
)

const indexFile = "index.yaml"

// repository serves archives, and an index of them.
type repository struct {
	mu       sync.Mutex
	archives map[string]published
}

// published is one version of a chart.
type published struct {
	metadata *chart.Metadata
	content  []byte
}

func newRepository() *repository { return &repository{archives: map[string]published{}} }

func fileName(name, version string) string { return name + "-" + version + ".tgz" }

// add refuses what Helm would leave out of an index.
func (r *repository) add(metadata *chart.Metadata, archive []byte) error {
	if err := metadata.Validate(); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.archives[fileName(metadata.Name, metadata.Version)] = published{metadata: metadata, content: archive}
	return nil
}

// digest returns that of an archive, and whether there is one.
func (r *repository) digest(name, version string) (string, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	archive, there := r.archives[fileName(name, version)]
	return digestOf(archive.content), there
}

// ServeHTTP takes paths below the repository's own.
func (r *repository) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	if request.Method != http.MethodGet && request.Method != http.MethodHead {
		http.Error(w, "this repository can only be read", http.StatusMethodNotAllowed)
		return
	}
	if request.URL.Path == indexFile {
		r.serveIndex(w)
		return
	}
	r.mu.Lock()
	archive, there := r.archives[request.URL.Path]
	r.mu.Unlock()
	if !there {
		http.NotFound(w, request)
		return
	}
	w.Header().Set("Content-Type", "application/gzip")
	_, _ = w.Write(archive.content) // A client that went away is its own business.
}

func (r *repository) serveIndex(w http.ResponseWriter) {
	content, err := r.index()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/yaml")
	_, _ = w.Write(content)
}

// index has URLs relative to itself, and the digests of what is there now.
func (r *repository) index() ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	index := repo.NewIndexFile()
	for file, archive := range r.archives {
		digest := strings.TrimPrefix(digestOf(archive.content), "sha256:")
		if err := index.MustAdd(archive.metadata, file, "", digest); err != nil {
			return nil, err
		}
	}
	index.SortEntries()
	return yaml.Marshal(index)
}
