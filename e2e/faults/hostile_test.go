package faults

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// enough is how much of what has no end is read, in bytes.
const enough = 4 << 20

// read returns the beginning of an answer, and whether there is more of it.
func (e *env) read(path string, most int64) (*http.Response, []byte, bool) {
	e.Helper()
	request, err := http.NewRequestWithContext(e.Context(), http.MethodGet, e.proxy.server.URL+path, nil)
	if err != nil {
		e.Fatal(err)
	}
	request.Header.Set("Accept-Encoding", "identity") // Otherwise the client inflates by itself.
	response, err := e.client.Do(request)
	if err != nil {
		e.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }() // The rest of it is not wanted.
	content, err := io.ReadAll(io.LimitReader(response.Body, most+1))
	if err != nil {
		e.Fatal(err)
	}
	return response, content[:min(int64(len(content)), most)], int64(len(content)) > most
}

func (e *env) answering(action Action) *env {
	e.proxy.Inject(Rule{Action: action})
	return e
}

// listing is a server that has one object, whatever it is asked for.
const listing = `{"kind":"List","items":[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"settings","namespace":"default","resourceVersion":"5"}}]}`

func newListingEnv(t *testing.T) *env {
	t.Helper()
	e := newEnv(t)
	e.server.content = listing
	return e
}

func TestActionsTakeTurns(t *testing.T) {
	e := newEnv(t).answering(ByTurns(Conflict(), Pass(), Unavailable()))
	for i, want := range []int{http.StatusConflict, http.StatusOK, http.StatusServiceUnavailable, http.StatusConflict} {
		if got := e.do(http.MethodGet, configMaps, "").StatusCode; got != want {
			t.Errorf("request %d is answered %d, not %d", i, got, want)
		}
	}
}

func TestACompressedAnswerInflatesToWhatIsAskedFor(t *testing.T) {
	const size = 32 << 20
	response, content, more := newEnv(t).answering(Inflate(size)).read(configMaps, size/500)
	if more || response.Header.Get("Content-Encoding") != "gzip" {
		t.Fatalf("more than %d bytes: %v; encoded as %q", size/500, more, response.Header.Get("Content-Encoding"))
	}
	inflated := inflate(t, content)
	if len(inflated) < size || !json.Valid(inflated) {
		t.Errorf("it inflates to %d bytes, JSON: %v", len(inflated), json.Valid(inflated))
	}
}

func inflate(t *testing.T, content []byte) []byte {
	t.Helper()
	text, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	const most = 48 << 20
	inflated, err := io.ReadAll(io.LimitReader(text, most))
	if err != nil {
		t.Fatal(err)
	}
	return inflated
}

func TestWhatHasNoEndGoesOn(t *testing.T) {
	for name, c := range map[string]struct {
		action Action
		begins string
	}{
		"an object": {Endless(), `{"kind":"List"`},
		"an event":  {EndlessEvent(), `{"type":"ADDED"`},
		"events":    {SwellEvents(100 << 10), `{"type":"MODIFIED"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, content, more := newListingEnv(t).answering(c.action).read(configMaps, enough)
			if !more || !bytes.HasPrefix(content, []byte(c.begins)) {
				t.Errorf("after %d bytes there is more: %v; it begins %.40s", len(content), more, content)
			}
		})
	}
}

func TestEventsShowWhatIsThereInEverNewVersions(t *testing.T) {
	const size = 100 << 10
	_, content, _ := newListingEnv(t).answering(SwellEvents(size)).read(configMaps+"?watch=1", enough)
	versions := map[string]bool{}
	lines := bytes.Split(content, []byte("\n"))
	for _, line := range lines[:len(lines)-1] {
		var event struct{ Object metav1.PartialObjectMetadata }
		if err := json.Unmarshal(line, &event); err != nil {
			t.Fatal(err)
		}
		object := event.Object
		if object.Name != "settings" || len(object.Annotations["ballast"]) != size || len(object.ManagedFields) != 1 {
			t.Fatalf("an event shows %.200v", object)
		}
		versions[object.ResourceVersion] = true
	}
	if len(versions) != len(lines)-1 || len(versions) < 2 {
		t.Errorf("%d events show %d versions", len(lines)-1, len(versions))
	}
}

func TestAnErrorIsAsLongAsIsAskedForAndAnotherOneEachTime(t *testing.T) {
	e := newEnv(t).answering(LongError(http.StatusUnprocessableEntity, 2<<20))
	var messages []string
	for range 2 {
		response, content, _ := e.read(configMaps, enough)
		status := metav1.Status{}
		if err := json.Unmarshal(content, &status); err != nil {
			t.Fatal(err)
		}
		if response.StatusCode != http.StatusUnprocessableEntity || status.Reason != metav1.StatusReasonInvalid || len(status.Message) < 2<<20 {
			t.Errorf("the answer is %d, %s, with a message of %d bytes", response.StatusCode, status.Reason, len(status.Message))
		}
		messages = append(messages, status.Message)
	}
	if messages[0] == messages[1] {
		t.Error("two errors say the same")
	}
}

func TestDiscoveryTellsOfOtherKindsEachTime(t *testing.T) {
	e := newEnv(t).answering(InventKinds(3))
	seen := map[string]bool{}
	for range 2 {
		var groups metav1.APIGroupList
		_, content, _ := e.read("/apis", enough)
		if err := json.Unmarshal(content, &groups); err != nil {
			t.Fatal(err)
		}
		for _, group := range groups.Groups {
			seen[group.PreferredVersion.GroupVersion] = true
		}
		var kinds metav1.APIResourceList
		_, content, _ = e.read("/apis/one.example/v1", enough)
		if err := json.Unmarshal(content, &kinds); err != nil || kinds.GroupVersion != "one.example/v1" {
			t.Fatalf("the kinds are of %q; %v", kinds.GroupVersion, err)
		}
		for _, kind := range kinds.APIResources {
			seen[kind.Kind] = true
		}
	}
	if len(seen) != 12 {
		t.Errorf("there are %d different ones, not 12", len(seen))
	}
}

// list reads the items of a list.
func (e *env) list(path string) (continues string, items []metav1.PartialObjectMetadata, bytes int) {
	e.Helper()
	_, content, more := e.read(path, enough)
	var list metav1.PartialObjectMetadataList
	if err := json.Unmarshal(content, &list); err != nil || more {
		e.Fatalf("the answer is no list (there is more of it: %v): %v", more, err)
	}
	return list.Continue, list.Items, len(content)
}

func TestListsAreNotWhatTheyShouldBe(t *testing.T) {
	for name, c := range map[string]struct {
		action    Action
		continues string
		items     int
		first     string
		bytes     int
	}{
		"pages without end":  {EndlessPages(), "more", 25, "settings", 0},
		"huge objects":       {HugeObjects(100 << 10), "", 25, "theirs-0", 25 * 100 << 10},
		"swollen by another": {SwellList(1 << 20), "", 1, "settings", 1 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			next, items, size := newListingEnv(t).answering(c.action).list(configMaps + "?limit=25")
			if next != c.continues || len(items) != c.items || items[0].Name != c.first || size < c.bytes {
				t.Errorf("it goes on at %q after %d items in %d bytes, the first of them %s", next, len(items), size, items[0].Name)
			}
		})
	}
}

func TestThereAreMoreRecordsOfHelmThanThereWere(t *testing.T) {
	e := newListingEnv(t).answering(HelmRecords(4))
	_, items, _ := e.list("/api/v1/namespaces/default/secrets?labelSelector=name%3Dweb,owner%3Dhelm")
	if len(items) != 5 || items[4].Name != "sh.helm.release.v1.web.v5" || items[4].Labels["version"] != "5" {
		t.Errorf("there are %d records, the last of them %v", len(items), items[len(items)-1].ObjectMeta)
	}
}

func TestARecordOfHelmHoldsWhatItIsToHold(t *testing.T) {
	const size = 16 << 20
	for name, c := range map[string]struct {
		data  []byte
		holds string
		least int
	}{
		"a bomb":  {InflatingRecord(size), "xxxx", size},
		"aliases": {RecordOf(Aliases()), "*a9, *a9", 0},
		"depth":   {RecordOf(Nested(10_000)), strings.Repeat("[", 10_000), 0},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t).answering(HelmRecord(c.data))
			_, content, _ := e.read("/api/v1/namespaces/default/secrets/sh.helm.release.v1.web.v5", enough)
			var secret struct{ Data map[string][]byte }
			if err := json.Unmarshal(content, &secret); err != nil {
				t.Fatal(err)
			}
			packed, err := base64.StdEncoding.DecodeString(string(secret.Data["release"]))
			if err != nil {
				t.Fatal(err)
			}
			var record struct{ Manifest string }
			if err := json.Unmarshal(inflate(t, packed), &record); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(record.Manifest, c.holds) || len(record.Manifest) < c.least {
				t.Errorf("the manifest has %d bytes and begins %.60s", len(record.Manifest), record.Manifest)
			}
		})
	}
}

func TestTheLargestRecordFitsIntoASecret(t *testing.T) {
	const secret = 1 << 20
	if size := base64.StdEncoding.EncodedLen(len(InflatingRecord(700 << 20))); size > secret {
		t.Errorf("it has %d bytes", size)
	}
}
