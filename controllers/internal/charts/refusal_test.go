package charts

import (
	"net/http"
	"testing"
)

func TestIndexWithAnUnusableURLIsRefused(t *testing.T) {
	for url, reason := range map[string]Reason{
		"http://charts.test/stable/web-1.0.0.tgz":         SourceRefused,
		"ftp://charts.test/web.tgz":                       SourceRefused,
		"https://bob:pw@charts.test/web.tgz":              SourceRefused,
		"https://169.254.169.254/latest/meta-data":        SourceRefused,
		"https://[::ffff:10.0.0.1]/web.tgz":               SourceRefused,
		"oci://registry.test/charts/web:1.0.0":            SourceRefused,
		"https:///web.tgz":                                SourceRefused,
		"https://charts.test/%zz":                         InvalidIndex,
		"":                                                InvalidIndex,
		"https://charts.test/stable/web-1.0.0.tgz?gone=1": ChartNotFound,
	} {
		w := newEnv(t)
		s := newShop(t, "", "1.0.0")
		s.index.Entries["web"][0].URLs = []string{url}
		w.serve(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Has("gone") {
				rw.WriteHeader(http.StatusNotFound)
				return
			}
			s.mux.ServeHTTP(rw, r)
		}), "charts.test")
		source := w.source(stable)
		source.Credentials = alice
		_, err := w.fetcher(Options{}).Fetch(t.Context(), source)
		t.Logf("%s: %v", url, err)
		refusedFor(t, err, reason, "web")
	}
}

func TestForbiddenChartSaysSo(t *testing.T) {
	w := newEnv(t)
	w.serve(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusForbidden) }), "charts.test")
	source := w.source(stable)
	source.Credentials = alice
	_, err := w.fetcher(Options{}).Fetch(t.Context(), source)
	refusedFor(t, err, AccessDenied, "403 Forbidden", "let the user")
}

func TestArchiveWithAnotherDigestIsRefused(t *testing.T) {
	w := newEnv(t)
	s := newShop(t, "", "1.0.0")
	server := w.serve(s.mux, "charts.test")
	f := w.fetcher(Options{})
	pinned := w.source(stable)
	pinned.Digest = digestOf(s.archives["1.0.0"])
	chart, err := f.Fetch(t.Context(), pinned)
	got(t, chart, err, "1.0.0", s.archives["1.0.0"])

	other := digestOf([]byte("other"))
	pinned.Digest = other
	_, err = w.fetcher(Options{}).Fetch(t.Context(), pinned)
	refusedFor(t, err, DigestMismatch, "web", "1.0.0", other, digestOf(s.archives["1.0.0"]))
	if count := server.count(".tgz"); count != 1 {
		t.Errorf("%d downloads, want none of what the index gives another digest", count)
	}

	s.index.Entries["web"][0].Digest = other
	_, err = f.Fetch(t.Context(), w.source(stable))
	refusedFor(t, err, DigestMismatch, other, digestOf(s.archives["1.0.0"]))

	s.index.Entries["web"][0].Digest = ""
	_, err = f.Fetch(t.Context(), pinned)
	refusedFor(t, err, DigestMismatch, other, digestOf(s.archives["1.0.0"]))

	s.index.Entries["web"][0].Digest = "md5:0123"
	_, err = f.Fetch(t.Context(), w.source(stable))
	refusedFor(t, err, InvalidIndex, "1.0.0", "SHA-256")
}
