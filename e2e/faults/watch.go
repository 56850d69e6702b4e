package faults

import (
	"bytes"
	"encoding/json"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// SilenceWatch opens a watch on which nothing ever comes.
func SilenceWatch() Action {
	return func(e Exchange) {
		if e.openWatch() == nil {
			e.hold()
		}
	}
}

// ExpireWatch opens a watch, tells that its version is too old (410), and ends it.
func ExpireWatch() Action {
	return FailWatch(http.StatusGone, metav1.StatusReasonExpired, "too old resource version: 1 (2)")
}

// FailWatch opens a watch, tells of an error, and ends it.
func FailWatch(code int32, reason metav1.StatusReason, message string) Action {
	return func(e Exchange) {
		if e.openWatch() != nil {
			return
		}
		failure := status(code, reason, message)
		_ = json.NewEncoder(e.Response).Encode(metav1.WatchEvent{ // The client may have gone.
			Type: string(watch.Error), Object: runtime.RawExtension{Object: &failure},
		})
	}
}

// openWatch answers that the watch is open.
func (e Exchange) openWatch() error {
	e.Response.Header().Set("Content-Type", "application/json")
	e.Response.WriteHeader(http.StatusOK)
	return http.NewResponseController(e.Response).Flush()
}

// RepeatEvents delays each event of a watch, and hands it on twice.
func RepeatEvents(by time.Duration) Action {
	return func(e Exchange) {
		e.Backend.ServeHTTP(&eventRepeater{ResponseWriter: e.Response, exchange: e, delay: by}, legible(e.Request))
	}
}

// eventRepeater gets the lines of a watch in pieces of any size.
type eventRepeater struct {
	http.ResponseWriter
	exchange Exchange
	delay    time.Duration
	begun    []byte
}

func (r *eventRepeater) Write(content []byte) (int, error) {
	r.begun = append(r.begun, content...)
	for {
		end := bytes.IndexByte(r.begun, '\n')
		if end < 0 {
			return len(content), nil
		}
		event := r.begun[:end+1]
		r.begun = r.begun[end+1:]
		if !r.exchange.wait(r.delay) {
			return 0, http.ErrAbortHandler
		}
		for range 2 {
			if _, err := r.ResponseWriter.Write(event); err != nil {
				return 0, err
			}
		}
	}
}

// Unwrap lets events be flushed.
func (r *eventRepeater) Unwrap() http.ResponseWriter { return r.ResponseWriter }
