package faults

import (
	"net/http"
	"time"
)

// Exchange is one request and what an action needs to do something about it.
type Exchange struct {
	Response http.ResponseWriter
	Request  *http.Request
	// Backend is the API server.
	Backend http.Handler
	// Closed ends with the proxy: no action goes on after that.
	Closed <-chan struct{}
}

// Action deals with a request in the place of the API server, or hands it on. A panic with http.ErrAbortHandler
// resets the request's stream, and leaves the connection open.
type Action func(Exchange)

func pass(e Exchange) { e.Backend.ServeHTTP(e.Response, e.Request) }

// Delay hands a request on after a while.
func Delay(by time.Duration) Action {
	return func(e Exchange) {
		if e.wait(by) {
			pass(e)
		}
	}
}

// Hang never answers, and never hands a request on. The connection stays alive, and answers pings.
func Hang() Action {
	return func(e Exchange) { e.hold() }
}

// hold waits until the client gives up.
func (e Exchange) hold() {
	select {
	case <-e.Request.Context().Done():
	case <-e.Closed:
	}
}

// wait returns false if the client gave up before.
func (e Exchange) wait(by time.Duration) bool {
	timer := time.NewTimer(by)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-e.Request.Context().Done():
	case <-e.Closed:
	}
	return false
}
