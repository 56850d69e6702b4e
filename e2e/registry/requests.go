package registry

import (
	"maps"
	"net/http"
	"sync"
)

// requests counts what clients asked for.
type requests struct {
	mu     sync.Mutex
	counts map[string]int
}

func newRequests() *requests { return &requests{counts: map[string]int{}} }

func (r *requests) count(request *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts[request.Method+" "+request.URL.Path]++
}

// Requests returns how often each path was asked for since Start, by method and path, as in
// "GET /repo/index.yaml". Requests with wrong credentials don't count; stalled ones do.
func (s *Server) Requests() map[string]int {
	s.requests.mu.Lock()
	defer s.requests.mu.Unlock()
	return maps.Clone(s.requests.counts)
}

// Downloads returns how often the archive that is now published as a chart's version was fetched, from
// the OCI registry and from the repository together.
func (s *Server) Downloads(name, version string) int {
	digest, published := s.repository.digest(name, version)
	if !published {
		return 0
	}
	counts := s.Requests()
	return counts["GET "+blobPath(name, digest)] + counts["GET "+repositoryPath+fileName(name, version)]
}
