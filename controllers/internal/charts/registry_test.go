package charts

import (
	"bytes"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
)

const library = "oci://registry.test/library"

// ociRegistry is a real one, with charts as helm push leaves them.
type ociRegistry struct {
	*testing.T
	http.Handler
}

func newRegistry(t *testing.T) *ociRegistry {
	return &ociRegistry{T: t, Handler: registry.New(registry.Logger(log.New(io.Discard, "", 0)))}
}

// put uploads to the registry itself, past all that a test puts before it.
func (r *ociRegistry) put(path, mediaType string, content []byte) {
	r.Helper()
	method := http.MethodPut
	if strings.Contains(path, "/blobs/") {
		method = http.MethodPost
	}
	req := httptest.NewRequest(method, path, bytes.NewReader(content))
	req.Header.Set("Content-Type", mediaType)
	answer := httptest.NewRecorder()
	r.ServeHTTP(answer, req)
	if answer.Code != http.StatusCreated {
		r.Fatalf("%s: %d %s", path, answer.Code, answer.Body)
	}
}

func (r *ociRegistry) blob(content []byte) {
	r.Helper()
	r.put("/v2/library/web/blobs/uploads/?digest="+digestOf(content), "application/octet-stream", content)
}

func (r *ociRegistry) manifest(tag string, manifest any) []byte {
	r.Helper()
	text, err := json.Marshal(manifest)
	if err != nil {
		r.Fatal(err)
	}
	r.put("/v2/library/web/manifests/"+tag, manifestType, text)
	return text
}

type object = map[string]any

func descriptor(mediaType string, content []byte) object {
	return object{"mediaType": mediaType, "digest": digestOf(content), "size": len(content)}
}

func manifestOf(config object, layers ...object) object {
	return object{"schemaVersion": 2, "mediaType": manifestType, "config": config, "layers": layers}
}

// push a chart under a tag, beside its provenance, and return its archive.
func (r *ociRegistry) push(version string) []byte {
	r.Helper()
	archive, config, provenance := packed(r.T, version, 100), []byte(`{"name":"web"}`), []byte("signed")
	for _, content := range [][]byte{archive, config, provenance} {
		r.blob(content)
	}
	r.manifest(tagOf(version), manifestOf(descriptor(configType, config),
		descriptor("application/vnd.cncf.helm.chart.provenance.v1.prov", provenance), descriptor(layerType, archive)))
	return archive
}

func TestNewestWantedVersionIsFetchedFromARegistry(t *testing.T) {
	w := newEnv(t)
	r := newRegistry(t)
	archives := map[string][]byte{}
	for _, version := range []string{"1.2.3", "1.10.0", "1.10.0+build.7", "2.0.0-rc.1", "v3.0.0", "1.2.3-rc.1"} {
		archives[version] = r.push(version)
	}
	r.manifest("latest", manifestOf(object{}))
	r.manifest("20240101", manifestOf(object{}))
	w.serve(r, "registry.test")
	f := w.fetcher(Options{})
	for asked, want := range map[string]string{
		"1.2.3": "1.2.3", "1.2": "1.2.3", "1.x": "1.10.0+build.7", "1.10.0+build.7": "1.10.0+build.7", "1.10.0": "1.10.0",
		"*": "v3.0.0", "3.0.0": "v3.0.0", "v1.2.3": "1.2.3", "2.0.0-rc.1": "2.0.0-rc.1", "~2.0.0-0": "2.0.0-rc.1", "<1.2.3-z": "1.2.3-rc.1",
	} {
		source := w.source(library)
		source.Version = asked
		chart, err := f.Fetch(t.Context(), source)
		t.Logf("%s", asked)
		got(t, chart, err, want, archives[want])
	}
}

func TestWhatIsNotInTheRegistryIsNamed(t *testing.T) {
	w := newEnv(t)
	r := newRegistry(t)
	r.push("1.0.0")
	r.push("1.1.0-rc.1")
	w.serve(r, "registry.test")
	for asked, reason := range map[string]Reason{"1.0.1": VersionNotFound, "2.x": VersionNotFound, ">1.0": VersionNotFound, "1.0.0-" + strings.Repeat("a", 130): InvalidSource} {
		source := w.source(library)
		source.Version = asked
		_, err := w.fetcher(Options{}).Fetch(t.Context(), source)
		refusedFor(t, err, reason, asked)
		if reason == VersionNotFound {
			says(t, err, "chart web in oci://registry.test/library", "1.1.0-rc.1, 1.0.0")
		}
	}
	for _, version := range []string{"1.0.0", "1.x"} {
		source := w.source(library)
		source.Name, source.Version = "database", version
		_, err := w.fetcher(Options{}).Fetch(t.Context(), source)
		refusedFor(t, err, ChartNotFound, "chart database in oci://registry.test/library")
	}
}

func TestRegistryThatListsNothingStillHasExactVersions(t *testing.T) {
	w := newEnv(t)
	r := newRegistry(t)
	archive := r.push("1.0.0")
	mux := http.NewServeMux()
	mux.Handle("/", r)
	mux.HandleFunc("/v2/library/web/tags/list", func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusMethodNotAllowed) })
	w.serve(mux, "registry.test")
	source := w.source(library)
	source.Version = "1.0.0"
	chart, err := w.fetcher(Options{}).Fetch(t.Context(), source)
	got(t, chart, err, "1.0.0", archive)
	source.Version = "1.0.1"
	_, err = w.fetcher(Options{}).Fetch(t.Context(), source)
	refusedFor(t, err, VersionNotFound, "1.0.1", "does not list")
}

func TestWhatIsNoChartIsRefused(t *testing.T) {
	archive, config := []byte("archive"), []byte("{}")
	chartConfig := descriptor(configType, config)
	other := descriptor(layerType, archive)
	other["digest"] = "sha512:" + strings.Repeat("0", 128)
	negative := descriptor(layerType, archive)
	negative["size"] = -1
	large := descriptor(layerType, archive)
	large["size"] = 21 << 20
	for name, test := range map[string]struct {
		manifest any
		reason   Reason
		words    string
	}{
		"image":           {manifestOf(descriptor("application/vnd.oci.image.config.v1+json", config), descriptor("application/vnd.oci.image.layer.v1.tar+gzip", archive)), NotAChart, "container image"},
		"no layer":        {manifestOf(chartConfig), NotAChart, "no layer"},
		"another digest":  {manifestOf(chartConfig, other), NotAChart, "SHA-256"},
		"negative size":   {manifestOf(chartConfig, negative), NotAChart, "size"},
		"too large":       {manifestOf(chartConfig, large), ArchiveTooLarge, "20971520 bytes"},
		"not a manifest":  {"manifest", NotAChart, "JSON"},
		"a huge manifest": {object{"config": chartConfig, "x": strings.Repeat("x", maxManifest)}, NotAChart, "262144 bytes"},
	} {
		w := newEnv(t)
		r := newRegistry(t)
		r.blob(archive)
		r.blob(config)
		r.manifest("1.0.0", test.manifest)
		server := w.serve(r, "registry.test")
		for _, version := range []string{"1.0.0", "1.x"} {
			source := w.source(library)
			source.Version = version
			_, err := w.fetcher(Options{}).Fetch(t.Context(), source)
			t.Logf("%s: %v", name, err)
			refusedFor(t, err, test.reason, "web", test.words)
		}
		if server.count("/blobs/") != 0 {
			t.Errorf("%s: it was downloaded", name)
		}
	}
	w := newEnv(t)
	w.serve(body("<html>", false), "registry.test")
	_, err := w.fetcher(Options{}).Fetch(t.Context(), w.source(library))
	refusedFor(t, err, NotAChart, "registry.test does not answer as a registry")
}

// instead answers some paths of a registry in another way.
func instead(r http.Handler, part string, other http.HandlerFunc) http.HandlerFunc {
	return func(rw http.ResponseWriter, req *http.Request) {
		if strings.Contains(req.URL.Path, part) {
			other(rw, req)
			return
		}
		r.ServeHTTP(rw, req)
	}
}

func TestRegistryThatServesAnotherContentIsRefused(t *testing.T) {
	r := newRegistry(t)
	archive := r.push("1.0.0")
	swapped := bytes.Repeat([]byte("x"), len(archive))
	var written atomic.Int64
	for name, test := range map[string]struct {
		handler http.HandlerFunc
		words   string
	}{
		"of the same size": {instead(r, "/blobs/", func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write(swapped) }), digestOf(swapped)},
		"a longer one":     {instead(r, "/blobs/", func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write(append(swapped, 'x')) }), "more than the"},
		"an endless one":   {instead(r, "/blobs/", endless("x", &written)), "more than the"},
		"a shorter one":    {instead(r, "/blobs/", func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write(swapped[1:]) }), digestOf(swapped[1:])},
		"and says so": {instead(r, "/blobs/", func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Docker-Content-Digest", digestOf(swapped))
			rw.Write(swapped)
		}), digestOf(swapped)},
		"a manifest": {instead(r, "/manifests/", func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Type", manifestType)
			rw.Header().Set("Docker-Content-Digest", digestOf([]byte("other")))
			_, _ = io.WriteString(rw, "{}")
		}), digestOf([]byte("other"))},
	} {
		w := newEnv(t)
		w.serve(test.handler, "registry.test")
		_, err := w.fetcher(Options{}).Fetch(t.Context(), w.source(library))
		t.Logf("%s: %v", name, err)
		refusedFor(t, err, DigestMismatch, "web", test.words)
	}
	if sent := written.Load(); sent > 16<<20 {
		t.Errorf("%d bytes were taken", sent)
	}
}

func TestTagThatMovedLeadsToTheNewChartOrIsRefused(t *testing.T) {
	w := newEnv(t)
	r := newRegistry(t)
	before := r.push("1.0.0")
	server := w.serve(r, "registry.test")
	f := w.fetcher(Options{})
	pinned := w.source(library)
	pinned.Digest = digestOf(before)
	for _, source := range []Source{w.source(library), pinned} {
		chart, err := f.Fetch(t.Context(), source)
		got(t, chart, err, "1.0.0", before)
	}
	after := r.push("1.0.0")
	chart, err := f.Fetch(t.Context(), w.source(library))
	got(t, chart, err, "1.0.0", after)
	_, err = f.Fetch(t.Context(), pinned)
	refusedFor(t, err, DigestMismatch, "1.0.0", digestOf(before), digestOf(after), "published again")
	if count := server.count("/blobs/"); count != 2 {
		t.Errorf("%d downloads, want one of each archive", count)
	}
}
