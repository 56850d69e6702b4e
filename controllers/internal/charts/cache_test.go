package charts

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestArchiveIsDownloadedOnceForAll(t *testing.T) {
	w := newEnv(t)
	s, r := newShop(t, "", "1.0.0"), newRegistry(t)
	pushed := r.push("1.0.0")
	charts, registry := w.serve(s.mux, "charts.test"), w.serve(r, "registry.test")
	f := w.fetcher(Options{})
	var all sync.WaitGroup
	for i := range 20 {
		source := w.source(stable)
		want := s.archives["1.0.0"]
		if i%2 == 0 {
			source.Repository, want = library, pushed
		}
		if i%4 < 2 {
			source.Version = "1.0.0"
		}
		all.Go(func() {
			chart, err := f.Fetch(t.Context(), source)
			if err != nil || !bytes.Equal(chart.Archive, want) {
				t.Errorf("got %v", err)
			}
		})
	}
	all.Wait()
	if a, b := charts.count(".tgz"), registry.count("/blobs/"); a != 1 || b != 1 {
		t.Errorf("%d and %d downloads, want one of each archive", a, b)
	}
	if a, b := charts.count("index.yaml"), registry.count("/manifests/"); a != 10 || b != 10 {
		t.Errorf("%d indexes and %d manifests were read, want one for each of ten", a, b)
	}
}

func TestCredentialsOfOneOpenTheCacheToNobodyElse(t *testing.T) {
	w := newEnv(t)
	s := newShop(t, "", "1.0.0")
	mux := http.NewServeMux()
	mux.Handle("/stable/index.yaml", s.mux) // for all to see
	mux.Handle("/", guarded(s.mux))
	w.serve(mux, "charts.test")
	// A repository of somebody who knows digest and URL of what is not theirs.
	s.index.Entries["web"][0].URLs = []string{"https://charts.test/stable/web-1.0.0.tgz"}
	w.serve(s.mux, "thief.test")
	f := w.fetcher(Options{})
	source := w.source(stable)
	source.Credentials = alice
	chart, err := f.Fetch(t.Context(), source)
	got(t, chart, err, "1.0.0", s.archives["1.0.0"])
	for name, change := range map[string]func(*Source){
		"no credentials":     func(s *Source) { s.Credentials = nil },
		"other credentials":  func(s *Source) { s.Credentials = &Credentials{Username: "alice", Password: "guess"} },
		"another repository": func(s *Source) { s.Repository = "https://thief.test/stable" },
		"none and another":   func(s *Source) { s.Repository, s.Credentials = "https://thief.test/stable", nil },
	} {
		source := source
		change(&source)
		_, err := f.Fetch(t.Context(), source)
		t.Log(name)
		refusedFor(t, err, AccessDenied, "web")
	}
}

func TestSecretURLOfAnArchiveOpensTheCacheOnlyToThoseWhoKnowIt(t *testing.T) {
	w := newEnv(t)
	s := newShop(t, "", "1.0.0")
	mux := http.NewServeMux()
	mux.Handle("/guid-7f3a/", http.StripPrefix("/guid-7f3a", s.mux))
	w.serve(mux, "charts.test")
	f := w.fetcher(Options{})
	chart, err := f.Fetch(t.Context(), w.source("https://charts.test/guid-7f3a/stable"))
	got(t, chart, err, "1.0.0", s.archives["1.0.0"])
	// Who has learnt the digest alone serves an index with it.
	thief := http.NewServeMux()
	thief.Handle("/stable/index.yaml", s.mux)
	w.serve(thief, "thief.test")
	_, err = f.Fetch(t.Context(), w.source("https://thief.test/stable"))
	refusedFor(t, err, ChartNotFound, "thief.test")
}

func TestRegistryOpensTheCacheToWhomItGivesTheManifest(t *testing.T) {
	w := newEnv(t)
	r := newRegistry(t)
	archive := r.push("1.0.0")
	bob := &Credentials{Username: "bob", Password: "of-bob"}
	server := w.serve(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		_, password, _ := req.BasicAuth()
		if password != alice.Password && password != bob.Password {
			rw.Header().Set("Www-Authenticate", `Basic realm="x"`)
			rw.WriteHeader(http.StatusUnauthorized)
			return
		}
		r.ServeHTTP(rw, req)
	}), "registry.test")
	w.serve(instead(r, "/blobs/", http.NotFound), "thief.test")
	f := w.fetcher(Options{})
	source := w.source(library)
	for _, credentials := range []*Credentials{alice, bob} {
		source.Credentials = credentials
		chart, err := f.Fetch(t.Context(), source)
		got(t, chart, err, "1.0.0", archive)
	}
	if count := server.count("/blobs/"); count != 1 {
		t.Errorf("%d downloads, want 1", count)
	}
	source.Credentials = nil
	_, err := f.Fetch(t.Context(), source)
	refusedFor(t, err, AccessDenied, "web")
	source.Repository = "oci://thief.test/library"
	_, err = f.Fetch(t.Context(), source)
	refusedFor(t, err, ChartNotFound, "thief.test")
}

func TestCacheStaysWithinItsBytes(t *testing.T) {
	cache := newArchives(1000)
	for i := range 100 {
		archive, err := cache.get(t.Context(), key{digest: fmt.Sprint(i)}, func() ([]byte, error) { return make([]byte, 300), nil })
		if err != nil || len(archive) != 300 {
			t.Fatal(err)
		}
		if size := cache.kept.WeightedSize(); size > 1000 {
			t.Fatalf("%d bytes are kept", size)
		}
	}
	if cache.kept.WeightedSize() == 0 {
		t.Error("nothing is kept")
	}
	if len(cache.underWay) != 0 {
		t.Error("downloads are still under way")
	}
}

func TestFailedDownloadIsTriedByTheNextWhoWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cache := newArchives(1000)
		wanted := key{digest: "a"}
		broken := errors.New("broken")
		downloads := 0
		download := func() ([]byte, error) {
			downloads++
			<-time.After(time.Second)
			if downloads == 1 {
				return nil, broken
			}
			return []byte("archive"), nil
		}
		results := make(chan error, 4)
		for range 3 {
			go func() {
				_, err := cache.get(t.Context(), wanted, download)
				results <- err
			}()
		}
		impatient, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		synctest.Wait()
		if _, err := cache.get(impatient, wanted, download); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		failed := 0
		for range 3 {
			if err := <-results; errors.Is(err, broken) {
				failed++
			}
		}
		if failed != 1 || downloads != 2 {
			t.Errorf("%d failed, of %d downloads", failed, downloads)
		}
	})
}
