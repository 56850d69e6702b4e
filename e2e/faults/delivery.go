package faults

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
)

// LoseAnswer has a request carried out, and resets its stream in the place of the answer.
func LoseAnswer() Action {
	return func(e Exchange) {
		e.Backend.ServeHTTP(httptest.NewRecorder(), e.Request)
		panic(http.ErrAbortHandler)
	}
}

// LoseConnection has a request carried out, and closes the connection in the place of the answer.
func LoseConnection() Action {
	return func(e Exchange) {
		e.Backend.ServeHTTP(httptest.NewRecorder(), e.Request)
		if err := disconnect(e.Request); err != nil {
			panic(err)
		}
		panic(http.ErrAbortHandler)
	}
}

// Duplicate delivers a request twice, as a proxy that retries does, and hands on the second answer.
func Duplicate() Action {
	return func(e Exchange) {
		body, err := io.ReadAll(e.Request.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		again := func() *http.Request {
			r := e.Request.Clone(e.Request.Context())
			r.Body = io.NopCloser(bytes.NewReader(body))
			return r
		}
		e.Backend.ServeHTTP(httptest.NewRecorder(), again())
		e.Backend.ServeHTTP(e.Response, again())
	}
}

// Truncate hands on the first half of an answer, and ends it as if that were all.
func Truncate() Action {
	return func(e Exchange) {
		whole := httptest.NewRecorder()
		e.Backend.ServeHTTP(whole, legible(e.Request))
		e.replay(whole, whole.Body.Len()/2)
	}
}

// StaleLists answers each list as it was answered first, however often it is asked for again.
func StaleLists() Action {
	var mu sync.Mutex
	first := map[string]*httptest.ResponseRecorder{}
	return func(e Exchange) {
		mu.Lock()
		defer mu.Unlock()
		key := listKey(e.Request)
		if _, known := first[key]; !known {
			first[key] = httptest.NewRecorder()
			e.Backend.ServeHTTP(first[key], legible(e.Request))
		}
		e.replay(first[key], first[key].Body.Len())
	}
}

// listKey is the same for requests that differ only in the version from which they want to know.
func listKey(r *http.Request) string {
	query := maps.Clone(r.URL.Query())
	query.Del("resourceVersion")
	query.Del("resourceVersionMatch")
	return r.URL.Path + "?" + query.Encode() + " " + legible(r).Header.Get("Accept")
}

// replay answers as recorded, with so many bytes of the body.
func (e Exchange) replay(answer *httptest.ResponseRecorder, size int) {
	header := answer.Header().Clone()
	header.Del("Content-Length")
	maps.Copy(e.Response.Header(), header)
	e.Response.WriteHeader(answer.Code)
	_, _ = e.Response.Write(answer.Body.Bytes()[:size]) // The client may have gone.
}

// legible asks for an answer in JSON, without compression.
func legible(r *http.Request) *http.Request {
	r = r.Clone(r.Context())
	var accepted []string
	for _, one := range strings.Split(r.Header.Get("Accept"), ",") {
		if strings.Contains(one, "json") {
			accepted = append(accepted, strings.TrimSpace(one))
		}
	}
	if len(accepted) == 0 {
		accepted = []string{"application/json"}
	}
	r.Header.Set("Accept", strings.Join(accepted, ", "))
	r.Header.Set("Accept-Encoding", "identity")
	return r
}
