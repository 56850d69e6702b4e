package charts

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// endless writes until nobody reads any longer, and counts the bytes.
func endless(piece string, written *atomic.Int64) http.HandlerFunc {
	block := []byte(strings.Repeat(piece, 32*1024/len(piece)))
	return func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Length", "1000000000000")
		for {
			n, err := rw.Write(block)
			written.Add(int64(n))
			if err != nil {
				return
			}
		}
	}
}

func TestEndlessBodyIsCutAtTheLimit(t *testing.T) {
	const limit = 1 << 20
	for name, test := range map[string]struct {
		path, piece string
		reason      Reason
	}{
		"archive":               {"/stable/web-1.0.0.tgz", "x", ArchiveTooLarge},
		"index of one line":     {"/stable/index.yaml", "x", InvalidIndex},
		"index of spaces":       {"/stable/index.yaml", " ", InvalidIndex},
		"index of empty lines":  {"/stable/index.yaml", "\n", InvalidIndex},
		"index of flow nodes":   {"/stable/index.yaml", "[a,", InvalidIndex},
		"index of many entries": {"/stable/index.yaml", "entries:\n  web:\n  - version: 1.0.0\n", InvalidIndex},
	} {
		t.Run(name, func(t *testing.T) {
			w := newEnv(t)
			var written atomic.Int64
			s := newShop(t, "", "1.0.0")
			mux := http.NewServeMux()
			mux.Handle(test.path, endless(test.piece, &written))
			if test.reason == ArchiveTooLarge {
				mux.Handle("/", s.mux)
			}
			w.serve(mux, "charts.test")
			f := w.fetcher(Options{MaxArchive: limit, MaxIndex: limit})
			var err error
			used := allocated(func() { _, err = f.Fetch(t.Context(), w.source(stable)) })
			refusedFor(t, err, test.reason, "1048576 bytes")
			// What lies in the sockets' buffers was written, too.
			if sent := written.Load(); sent > limit+16<<20 {
				t.Errorf("%d bytes were taken", sent)
			}
			if used > slack*24*limit {
				t.Errorf("%d bytes were allocated", used)
			}
			noGoroutineIsLeft(t)
		})
	}
}

func TestArchiveOf21MiBIsTooLarge(t *testing.T) {
	w := newEnv(t)
	s := newShop(t, "", "1.0.0")
	large := packed(t, "1.0.1", 21<<20)
	s.index.Entries["web"][0].Digest = strings.TrimPrefix(digestOf(large), digestPrefix)
	mux := http.NewServeMux()
	mux.Handle("/", s.mux)
	mux.HandleFunc("/stable/web-1.0.0.tgz", func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write(large) })
	w.serve(mux, "charts.test")
	_, err := w.fetcher(Options{}).Fetch(t.Context(), w.source(stable))
	refusedFor(t, err, ArchiveTooLarge, "20971520 bytes", ".helmignore")
	chart, err := w.fetcher(Options{MaxArchive: int64(len(large))}).Fetch(t.Context(), w.source(stable))
	got(t, chart, err, "1.0.0", large)
}

func TestBombOfAnIndexDoesNotInflateBeyondTheLimit(t *testing.T) {
	w := newEnv(t)
	const limit = 4 << 20
	w.serve(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(rw)
		line := []byte(strings.Repeat("#", 1<<20-1) + "\n")
		for range 1 << 10 {
			if _, err := z.Write(line); err != nil {
				return
			}
		}
		_ = z.Close()
	}), "charts.test")
	var err error
	used := allocated(func() { _, err = w.fetcher(Options{MaxIndex: limit}).Fetch(t.Context(), w.source(stable)) })
	refusedFor(t, err, InvalidIndex, "4194304 bytes")
	if used > slack*8*limit {
		t.Errorf("%d bytes were allocated", used)
	}
}

func TestIndexThatIsNoneIsRefused(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"web page":       body("<!DOCTYPE html>\n<html><body>Welcome: alice</body></html>", false),
		"empty":          body("", false),
		"no YAML":        body("a: [", false),
		"JSON of others": body(`{"entries": 3}`, false),
		"no entries":     body("apiVersion: v1\n", false),
		"not gzip": func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Encoding", "gzip")
			io.WriteString(rw, "entries: {}")
		},
		"another encoding": func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Encoding", "br")
			io.WriteString(rw, "x")
		},
		"not found":      http.NotFound,
		"a long mistake": body("entries: "+strings.Repeat("\x01", 1000), false),
		"echo":           body(alice.Password+": [", false),
	} {
		w := newEnv(t)
		w.serve(handler, "charts.test")
		source := w.source(stable)
		source.Credentials = alice
		_, err := w.fetcher(Options{}).Fetch(t.Context(), source)
		t.Logf("%s: %v", name, err)
		refusedFor(t, err, InvalidIndex, "web", "charts.test", "index.yaml")
	}
}

func TestCompressedStallIsNoMistakeOfTheIndex(t *testing.T) {
	w := newEnv(t)
	w.serve(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Encoding", "gzip")
		rw.Header().Set("Content-Length", "100")
		_, _ = rw.Write([]byte{0x1f, 0x8b})
	}), "charts.test")
	_, err := w.fetcher(Options{}).Fetch(t.Context(), w.source(stable))
	passes(t, err, "in the middle of an answer")
}

func TestStallEndsWithTheTimeout(t *testing.T) {
	const timeout = 200 * time.Millisecond
	stall := func(r *http.Request) { <-r.Context().Done() }
	for name, handler := range map[string]http.HandlerFunc{
		"headers": func(_ http.ResponseWriter, r *http.Request) { stall(r) },
		"body": func(rw http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(rw, `{"tags": [`)
			rw.(http.Flusher).Flush()
			stall(r)
		},
		"drops": func(rw http.ResponseWriter, r *http.Request) {
			ticker := time.NewTicker(time.Millisecond)
			defer ticker.Stop()
			for r.Context().Err() == nil {
				_, _ = io.WriteString(rw, " ")
				rw.(http.Flusher).Flush()
				<-ticker.C
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newEnv(t)
			w.serve(handler, "charts.test")
			for _, repository := range []string{stable, "oci://charts.test/stable"} {
				start := time.Now()
				_, err := w.fetcher(Options{Timeout: timeout}).Fetch(t.Context(), w.source(repository))
				passes(t, err, "charts.test", "within 200ms")
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("got %v", err)
				}
				if took := time.Since(start); took < timeout || took > patience/2 {
					t.Errorf("it took %s", took)
				}
			}
			noGoroutineIsLeft(t)
		})
	}
}

func TestServerThatNeverSpeaksTLSIsCutAtTheTimeout(t *testing.T) {
	w := newEnv(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	w.names["charts.test:443"] = listener.Addr().String()
	_, err = w.fetcher(Options{Timeout: 100 * time.Millisecond}).Fetch(t.Context(), w.source(stable))
	passes(t, err, "within 100ms")
	noGoroutineIsLeft(t)
}

func TestWhatMayPassIsNoErrorOfTheSource(t *testing.T) {
	w := newEnv(t)
	w.serve(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		http.Error(rw, alice.Password, http.StatusServiceUnavailable)
	}), "charts.test")
	source := w.source(stable)
	source.Credentials = alice
	_, err := w.fetcher(Options{}).Fetch(t.Context(), source)
	passes(t, err, "charts.test", "503 Service Unavailable")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = w.fetcher(Options{}).Fetch(ctx, source)
	passes(t, err, "cancelled")
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w.names["charts.test:443"] = listener.Addr().String()
	_ = listener.Close()
	_, err = w.fetcher(Options{}).Fetch(t.Context(), source)
	passes(t, err, "charts.test", "connection refused")
	if !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("got %v", err)
	}
}

func TestServerOfAnotherCAIsNotBelieved(t *testing.T) {
	w := newEnv(t)
	server := w.serve(newShop(t, "", "1.0.0").mux, "charts.test", "charts.example")
	for name, change := range map[string]func(*Source){
		"another CA":       func(s *Source) { s.CA = newEnv(t).ca },
		"the system's CAs": func(s *Source) { s.CA = nil },
		"another name":     func(s *Source) { s.Repository = "https://charts.example/stable" },
	} {
		source := w.source(stable)
		source.Credentials = alice
		change(&source)
		_, err := w.fetcher(Options{}).Fetch(t.Context(), source)
		t.Logf("%s: %v", name, err)
		passes(t, err, "charts.", "certificate")
	}
	if server.count("") != 0 {
		t.Error("a request was sent")
	}
}
