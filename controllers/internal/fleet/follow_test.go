package fleet

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/tracker"
)

var secretKind = schema.GroupVersionKind{Version: "v1", Kind: "Secret"}

// follows connects to a scripted server, claims cache/settings and watches ConfigMaps and Secrets.
func (r *rig) follows(server *scripted) *tracker.Tracker {
	r.Helper()
	cluster := r.connected(server.access())
	cluster.Tracker.Claim(release, settings)
	for _, kind := range []schema.GroupVersionKind{configMapKind, secretKind} {
		if err := cluster.Watch(r.Context(), kind); err != nil {
			r.Fatal(err)
		}
	}
	return cluster.Tracker
}

func TestKindThatCannotBeWatchedIsUnknownAloneAndTriedOncePerStepOfTheBackoff(t *testing.T) {
	retryMuchLater := func(w http.ResponseWriter, request *http.Request) {
		w.Header().Set("Retry-After", "3600")
		refuse(http.StatusTooManyRequests, "too many requests")(w, request)
	}
	gone := failure(http.StatusGone, "Expired")
	for name, c := range map[string]struct {
		list, watch http.HandlerFunc
		says        string
	}{
		"a list is refused":             {refuse(http.StatusForbidden, "may not list"), nil, "may not list"},
		"a list fails":                  {refuse(http.StatusInternalServerError, "conversion webhook failed"), nil, "conversion webhook failed"},
		"a list is not found":           {refuse(http.StatusNotFound, "the server could not find the requested resource"), nil, "could not find"},
		"a list is to be asked later":   {retryMuchLater, nil, "too many requests"},
		"a watch is to be opened later": {nil, retryMuchLater, "too many requests"},
		"a list is garbage":             {closing("<html>"), nil, ""},
		"a watch is refused":            {nil, refuse(http.StatusForbidden, "may not watch"), "may not watch"},
		"a watch is not found":          {nil, refuse(http.StatusNotFound, "the server could not find the requested resource"), "could not find"},
		"a watch ends at once":          {nil, closing(), errEnded.Error()},
		"a watch fails":                 {nil, closing(failure(http.StatusInternalServerError, "InternalError")), "no"},
		"a watch is expired each time":  {nil, closing(gone), "no"},
		"a watch goes backwards":        {listOf("10"), closing(event("ADDED", settingsAt("5"))), errBackwards.Error()},
		"a watch is garbage":            {nil, closing("<html>"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, timeouts())
			server := newScripted(t, c.list, c.watch)
			tracked := r.follows(server)
			r.eventually("the kind is unknown", func() bool { return tracked.Kind(configMaps).Unknown != "" })
			// Within the patience of a second, which grows longer on a busy machine, and not more often.
			if lists, watches := server.requests(); lists > 8 || watches > 8 {
				t.Errorf("there were %d lists and %d watches until then", lists, watches)
			}
			r.eventually("the reason is told", func() bool { return strings.Contains(tracked.Kind(configMaps).Unknown, c.says) })
			r.eventually("the other kind is listed", func() bool { return tracked.Kind(secretKind.GroupKind()) == tracker.KindState{Listed: true} })

			server.answer(nil, stream(event("BOOKMARK", settingsAt("20"))))
			r.eventually("it is known again", func() bool { return tracked.Kind(configMaps) == tracker.KindState{Listed: true} })
		})
	}
}

func TestSilentWatchIsReplacedByAList(t *testing.T) {
	limits := timeouts()
	limits.WatchSilence = 200 * time.Millisecond
	r := newRig(t, limits)
	server := newScripted(t, listOf("10", settingsAt("10")), nil)
	tracker := r.follows(server)
	sees := func(version string) func() bool {
		return func() bool {
			seen, _ := tracker.Look(settings)
			return seen != nil && seen.ResourceVersion == version
		}
	}
	r.eventually("the list is in", sees("10"))
	server.answer(listOf("20", settingsAt("20")), nil)
	r.eventually("what the watch did not show is seen", sees("20"))
}

func TestVersionsThatGoBackwardsMakeForAList(t *testing.T) {
	r := newRig(t, timeouts())
	backwards := stream(event("MODIFIED", settingsAt("5")))
	server := newScripted(t, listOf("10", settingsAt("10")), backwards)
	tracker := r.follows(server)
	r.eventually("the watch has gone backwards", func() bool {
		lists, _ := server.requests()
		return lists > 1
	})
	// A list that is under way may still be of before, so the watch after it has to go backwards too.
	server.answer(listOf("5", settingsAt("5")), backwards)
	r.eventually("the older version is believed", func() bool {
		seen, _ := tracker.Look(settings)
		return seen != nil && seen.ResourceVersion == "5"
	})
}

// In steady state a watch that the server ends in time goes on where it was, without a list.
func TestWatchAsksForBookmarksAndARandomEnd(t *testing.T) {
	asked := make(chan *http.Request, 1)
	r := newRig(t, timeouts())
	server := newScripted(t, listOf("10"), func(w http.ResponseWriter, request *http.Request) {
		select {
		case asked <- request:
		default:
		}
		quiet(w, request)
	})
	r.follows(server)
	query := (<-asked).URL.Query()
	end, err := time.ParseDuration(query.Get("timeoutSeconds") + "s")
	if err != nil || end < minWatch || end > 2*minWatch {
		t.Errorf("the watch is to end after %q seconds: %v", query.Get("timeoutSeconds"), err)
	}
	if query.Get("allowWatchBookmarks") != "true" || query.Get("resourceVersion") != "10" {
		t.Errorf("the watch asks for %v", query)
	}
}
