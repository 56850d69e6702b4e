package charts

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	chart "helm.sh/helm/v4/pkg/chart/v2"
	repo "helm.sh/helm/v4/pkg/repo/v1"
	"sigs.k8s.io/yaml"
)

// shop is a repository that helm repo index made.
type shop struct {
	mux      *http.ServeMux
	index    *repo.IndexFile
	archives map[string][]byte
}

// newShop has some versions, each with its own archive. Base is where the archives are: empty for
// URLs relative to the index.
func newShop(t *testing.T, base string, versions ...string) *shop {
	t.Helper()
	s := &shop{mux: http.NewServeMux(), index: repo.NewIndexFile(), archives: map[string][]byte{}}
	for _, version := range versions {
		archive := packed(t, version, 100)
		file := "web-" + version + ".tgz"
		metadata := &chart.Metadata{APIVersion: "v2", Name: "web", Version: version, Description: "a: \"web\" server\n# with - signs"}
		if err := s.index.MustAdd(metadata, file, base, strings.TrimPrefix(digestOf(archive), digestPrefix)); err != nil {
			t.Fatal(err)
		}
		s.archives[version] = archive
		s.mux.HandleFunc("/stable/"+file, func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write(archive) })
	}
	s.mux.HandleFunc("/stable/index.yaml", func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write(s.text(t)) })
	return s
}

func (s *shop) text(t *testing.T) []byte {
	t.Helper()
	file := filepath.Join(t.TempDir(), indexFile)
	if err := s.index.WriteFile(file, 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

const stable = "https://charts.test/stable"

func TestNewestWantedVersionIsFetchedFromARepository(t *testing.T) {
	w := newEnv(t)
	s := newShop(t, "", "1.2.3", "1.10.0", "2.0.0-rc.1", "1.2.3-rc.1", "0.9.0")
	w.serve(s.mux, "charts.test")
	f := w.fetcher(Options{})
	for asked, want := range map[string]string{
		"1.2.3": "1.2.3", "v1.2.3": "1.2.3", "1.2": "1.2.3", "1.x": "1.10.0", "*": "1.10.0", ">=0.9 <1.10": "1.2.3",
		"2.0.0-rc.1": "2.0.0-rc.1", ">=1.10.0-0": "2.0.0-rc.1", "1.2.3-rc.1": "1.2.3-rc.1", "^1.2 || ^0.9": "1.10.0",
	} {
		source := w.source(stable)
		source.Version = asked
		chart, err := f.Fetch(t.Context(), source)
		t.Logf("%s", asked)
		got(t, chart, err, want, s.archives[want])
	}
}

func TestWhatIsNotInTheIndexIsNamed(t *testing.T) {
	w := newEnv(t)
	w.serve(newShop(t, "", "1.0.0", "1.1.0", "1.2.0", "1.3.0", "1.4.0", "2.0.0-rc.1").mux, "charts.test")
	f := w.fetcher(Options{})
	for asked, reason := range map[string]Reason{
		"1.0.1": VersionNotFound, "3.x": VersionNotFound, ">1.4": VersionNotFound, "2.0.0": VersionNotFound,
		"latest": InvalidSource, "": InvalidSource,
	} {
		source := w.source(stable)
		source.Version = asked
		_, err := f.Fetch(t.Context(), source)
		refusedFor(t, err, reason, asked)
		if reason == VersionNotFound {
			says(t, err, "web", "charts.test/stable", "2.0.0-rc.1, 1.4.0, 1.3.0, 1.2.0, 1.1.0")
		}
	}
	source := w.source(stable)
	source.Name = "database"
	_, err := f.Fetch(t.Context(), source)
	refusedFor(t, err, ChartNotFound, "database", "charts.test/stable")
}

func TestAllFormsOfAnIndexAreRead(t *testing.T) {
	archive := []byte("archive")
	digest := strings.TrimPrefix(digestOf(archive), digestPrefix)
	helm := newShop(t, "", "1.0.0").index
	helm.Entries["web"][0].Digest = digest
	text, err := yaml.Marshal(helm)
	if err != nil {
		t.Fatal(err)
	}
	asJSON, err := json.Marshal(helm)
	if err != nil {
		t.Fatal(err)
	}
	for name, index := range map[string]string{
		"of Helm":              string(text),
		"JSON":                 string(asJSON),
		"without a digest":     "apiVersion: v1\nentries:\n  web:\n  - version: 1.0.0\n    urls: [web-1.0.0.tgz]\n",
		"with an absolute URL": "apiVersion: v1\nentries:\n  web:\n  - {version: 1.0.0, urls: ['https://charts.test/stable/web-1.0.0.tgz']}\n",
		"with an absolute path": "---\nentries:\n    \"web\":\n        - version: '1.0.0'\n          digest: sha256:" + strings.ToUpper(digest) +
			"\n          urls:\n            - \"/stable/web-1.0.0.tgz\"\n",
		"with aliases": "entries:\n  web:\n  - version: &v 1.0.0\n    urls: &u [web-1.0.0.tgz]\n  - {version: *v, urls: *u}\n",
	} {
		for _, compressed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, compressed %t", name, compressed), func(t *testing.T) {
				w := newEnv(t)
				mux := http.NewServeMux()
				mux.Handle("/stable/index.yaml", body(index, compressed))
				mux.Handle("/stable/web-1.0.0.tgz", body(string(archive), false))
				w.serve(mux, "charts.test")
				chart, err := w.fetcher(Options{}).Fetch(t.Context(), w.source(stable))
				got(t, chart, err, "1.0.0", archive)
			})
		}
	}
}

func body(text string, compressed bool) http.HandlerFunc {
	return func(rw http.ResponseWriter, _ *http.Request) {
		if !compressed {
			_, _ = rw.Write([]byte(text))
			return
		}
		rw.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(rw)
		_, _ = z.Write([]byte(text))
		_ = z.Close()
	}
}

// guarded lets alice in.
func guarded(inner http.Handler) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		username, password, _ := r.BasicAuth()
		if username != alice.Username || password != alice.Password {
			rw.Header().Set("Www-Authenticate", `Basic realm="charts"`)
			// A server may repeat what it was sent.
			http.Error(rw, r.Header.Get("Authorization")+password, http.StatusUnauthorized)
			return
		}
		inner.ServeHTTP(rw, r)
	}
}

func TestCredentialsAreSentToTheirRepository(t *testing.T) {
	w := newEnv(t)
	s := newShop(t, "", "1.0.0")
	w.serve(guarded(s.mux), "charts.test")
	f := w.fetcher(Options{})
	source := w.source(stable)
	_, err := f.Fetch(t.Context(), source)
	refusedFor(t, err, AccessDenied, "401 Unauthorized", "name a Secret")
	source.Credentials = &Credentials{Username: "alice", Password: "wrong"}
	_, err = f.Fetch(t.Context(), source)
	refusedFor(t, err, AccessDenied, "401 Unauthorized", "check username and password")
	if strings.Contains(err.Error(), "wrong") {
		t.Errorf("the password is in the message: %s", err)
	}
	source.Credentials = alice
	chart, err := f.Fetch(t.Context(), source)
	got(t, chart, err, "1.0.0", s.archives["1.0.0"])
}

func TestArchiveOnAnotherHostIsFetchedWithoutCredentials(t *testing.T) {
	w := newEnv(t)
	s := newShop(t, "https://files.test/stable", "1.0.0")
	w.serve(guarded(s.mux), "charts.test")
	files := w.serve(s.mux, "files.test")
	source := w.source(stable)
	source.Credentials = alice
	chart, err := w.fetcher(Options{}).Fetch(t.Context(), source)
	got(t, chart, err, "1.0.0", s.archives["1.0.0"])
	if files.count("web-1.0.0.tgz") != 1 || files.sawSecrets() {
		t.Error("the other host was sent credentials, or nothing")
	}
}
