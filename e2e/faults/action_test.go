package faults

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestAnswersInPlaceOfTheServer(t *testing.T) {
	tests := map[string]struct {
		action Action
		code   int
		says   string
	}{
		"conflict":          {Conflict(), http.StatusConflict, `"reason":"Conflict"`},
		"too many requests": {TooManyRequests(1500 * time.Millisecond), http.StatusTooManyRequests, `"retryAfterSeconds":2`},
		"internal error":    {InternalError(), http.StatusInternalServerError, `"reason":"InternalError"`},
		"unavailable":       {Unavailable(), http.StatusServiceUnavailable, `"reason":"ServiceUnavailable"`},
		"forbidden":         {Forbidden(), http.StatusForbidden, `"reason":"Forbidden"`},
		"not found":         {NotFound(), http.StatusNotFound, `"reason":"NotFound"`},
		"garbage":           {Garbage(), http.StatusOK, "<!DOCTYPE html>"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t)
			e.proxy.Inject(Rule{Action: test.action})
			got := e.do(http.MethodPost, configMaps, "{}")
			if got.err != nil || got.StatusCode != test.code || !strings.Contains(got.body, test.says) {
				t.Errorf("the client got %+v", got)
			}
			if after := got.Header.Get("Retry-After"); (after == "2") != (test.code == http.StatusTooManyRequests) {
				t.Errorf("it is to try again after %q", after)
			}
			if reached := e.server.requests(); len(reached) != 0 {
				t.Errorf("the server got %q", reached)
			}
		})
	}
}

func TestALostAnswerIsOfARequestThatWasCarriedOut(t *testing.T) {
	for name, action := range map[string]Action{"stream": LoseAnswer(), "connection": LoseConnection()} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t)
			e.proxy.Inject(Rule{Times: 1, Action: action})
			if got := e.do(http.MethodPost, configMaps, "{}"); got.err == nil {
				t.Errorf("the client got %+v, not an error", got)
			}
			if reached := e.server.requests(); len(reached) != 1 || reached[0] != "POST {}" {
				t.Errorf("the server got %q", reached)
			}
			if got := e.do(http.MethodGet, configMaps, ""); got.err != nil {
				t.Errorf("the next request ends with %v", got.err)
			}
		})
	}
}

func TestADuplicateIsDeliveredTwiceAsAWhole(t *testing.T) {
	e := newEnv(t)
	e.proxy.Inject(Rule{Action: Duplicate()})
	got := e.do(http.MethodPost, configMaps, "content")
	if got.err != nil || !strings.Contains(got.body, `"count":2`) {
		t.Errorf("the client got %+v, not the second answer", got)
	}
	if reached := strings.Join(e.server.requests(), ","); reached != "POST content,POST content" {
		t.Errorf("the server got %s", reached)
	}
}

func TestATruncatedAnswerLooksWhole(t *testing.T) {
	e := newEnv(t)
	e.proxy.Inject(Rule{Action: Truncate()})
	const whole = `{"server":"first","count":1,"credentials":"Bearer of the proxy"}`
	got := e.do(http.MethodGet, configMaps, "")
	if got.err != nil || got.StatusCode != http.StatusOK || got.body != whole[:len(whole)/2] {
		t.Errorf("the client got %+v", got)
	}
}

func TestAStaleListIsTheFirstOne(t *testing.T) {
	e := newEnv(t)
	e.proxy.Inject(Rule{Match: Match{Verbs: []string{"list"}}, Action: StaleLists()})
	first := e.do(http.MethodGet, configMaps+"?labelSelector=a", "").body
	e.do(http.MethodPost, configMaps, "{}")
	if again := e.do(http.MethodGet, configMaps+"?labelSelector=a&resourceVersion=7", "").body; again != first {
		t.Errorf("the second list is %s, the first was %s", again, first)
	}
	if other := e.do(http.MethodGet, configMaps+"?labelSelector=b", "").body; other == first {
		t.Errorf("another list is %s as well", other)
	}
}

func TestADelayedRequestArrives(t *testing.T) {
	e := newEnv(t)
	const by = 100 * time.Millisecond
	e.proxy.Inject(Rule{Action: Delay(by)})
	start := time.Now()
	if got := e.do(http.MethodGet, configMaps, ""); got.err != nil || got.StatusCode != http.StatusOK {
		t.Errorf("the client got %+v", got)
	}
	if took := time.Since(start); took < by {
		t.Errorf("the answer came after %s", took)
	}
}

func TestAHungRequestNeverArrives(t *testing.T) {
	e := newEnv(t)
	e.proxy.Inject(Rule{Times: 1, Action: Hang()})
	if got := e.doWithin(100*time.Millisecond, http.MethodGet, configMaps, ""); !errors.Is(got.err, context.DeadlineExceeded) {
		t.Errorf("the client got %+v", got)
	}
	if reached := e.server.requests(); len(reached) != 0 {
		t.Errorf("the server got %q", reached)
	}
}

const (
	firstEvent  = `{"type":"ADDED","object":{"name":"a"}}`
	secondEvent = `{"type":"DELETED","object":{"name":"a"}}`
)

func TestWatchesThatFail(t *testing.T) {
	tests := map[string]struct {
		action   Action
		patience time.Duration
		body     string
	}{
		"silent":   {SilenceWatch(), 200 * time.Millisecond, ""},
		"expired":  {ExpireWatch(), time.Minute, `"code":410`},
		"repeated": {RepeatEvents(time.Millisecond), time.Minute, firstEvent + "\n" + firstEvent + "\n" + secondEvent + "\n" + secondEvent},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t, firstEvent, secondEvent)
			e.proxy.Inject(Rule{Match: Match{Verbs: []string{"watch"}}, Action: test.action})
			e.do(http.MethodGet, configMaps, "") // The connection is open before the time counts.
			got := e.doWithin(test.patience, http.MethodGet, configMaps+"?watch=true", "")
			if test.body == "" {
				if got.body != "" || !errors.Is(got.err, context.DeadlineExceeded) {
					t.Errorf("a silent watch ends with %+v", got)
				}
				return
			}
			if got.err != nil || got.StatusCode != http.StatusOK || !strings.Contains(got.body, test.body) {
				t.Errorf("the client got %+v", got)
			}
		})
	}
}
