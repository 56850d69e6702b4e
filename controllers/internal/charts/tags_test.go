package charts

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

func TestFurtherPagesOfTagsGetNoCredentialsElsewhere(t *testing.T) {
	w := newEnv(t)
	r := newRegistry(t)
	archive := r.push("1.0.0")
	elsewhere := w.serve(guarded(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(rw, `{"tags": []}`)
	})), "elsewhere.test")
	page := func(next string) http.HandlerFunc {
		return func(rw http.ResponseWriter, req *http.Request) {
			tags := `{"tags": ["0.9.0"]}`
			if req.URL.Query().Has("last") {
				tags = `{"tags": ["1.0.0"]}`
			} else {
				rw.Header().Set("Link", "<"+next+`>; rel="next"`)
			}
			_, _ = io.WriteString(rw, tags)
		}
	}
	for next, reason := range map[string]Reason{
		"/v2/library/web/tags/list?last=0.9.0":       "",
		"https://elsewhere.test/v2/tags?last=0.9.0":  AccessDenied,
		"http://registry.test/v2/tags?last=0.9.0":    SourceRefused,
		"https://169.254.169.254/v2/tags?last=0.9.0": SourceRefused,
	} {
		w.serve(guarded(instead(r, "/tags/list", page(next))), "registry.test")
		source := w.source(library)
		source.Credentials = alice
		chart, err := w.fetcher(Options{}).Fetch(t.Context(), source)
		if reason == "" {
			got(t, chart, err, "1.0.0", archive)
			continue
		}
		refusedFor(t, err, reason, "registry.test")
	}
	if elsewhere.sawSecrets() {
		t.Error("another host was sent credentials")
	}
}

func TestEndlessTagsAreCut(t *testing.T) {
	w := newEnv(t)
	var written atomic.Int64
	w.serve(endless(`{"tags": ["1.0.0", `+strings.Repeat(`"1.0.0", `, 100), &written), "registry.test")
	used := allocated(func() {
		if _, err := w.fetcher(Options{}).Fetch(t.Context(), w.source(library)); err == nil {
			t.Error("they were taken")
		}
	})
	if used > slack*64<<20 || written.Load() > 32<<20 {
		t.Errorf("%d bytes were taken, and %d allocated", written.Load(), used)
	}

	pages := w.serve(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Link", "</v2/library/web/tags/list?n=1>; rel=next")
		_, _ = io.WriteString(rw, `{"tags": ["1.0.0"]}`)
	}), "registry.test")
	_, err := w.fetcher(Options{}).Fetch(t.Context(), w.source(library))
	refusedFor(t, err, VersionNotFound, "1000 pages", "name an exact version")
	if count := pages.count("/tags/"); count != maxTagPages {
		t.Errorf("%d pages were read", count)
	}
	noGoroutineIsLeft(t)
}
