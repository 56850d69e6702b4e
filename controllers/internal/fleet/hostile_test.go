package fleet

import (
	"bytes"
	"compress/gzip"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/bounded"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/transport"
	"github.com/daytwo-dev/daytwo/controllers/internal/kubeconfig"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

const (
	mebi = 1 << 20
	// endless is how much a hostile server sends where it is asked for an object.
	endless = 192 * mebi
	// affordable is how much may be allocated for one answer, hostile server included.
	affordable = 96 * mebi
)

// hostileServer says that it is a cluster, and answers everything else as it likes.
func hostileServer(t *testing.T, answer http.HandlerFunc) kubeconfig.Access {
	t.Helper()
	return serverOf(t, "v1.36.3", answer)
}

// serverOf is one that claims to have some version.
func serverOf(t *testing.T, version string, answer http.HandlerFunc) kubeconfig.Access {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch request.URL.Path {
		case transport.IdentityPath:
			_, _ = io.WriteString(w, `{"metadata":{"uid":"hostile"}}`)
		case "/version":
			_, _ = fmt.Fprintf(w, `{"gitVersion":%q}`, version)
		default:
			answer(w, request)
		}
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	return kubeconfig.Access{
		Server: server.URL, Token: token, CAData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
	}
}

// repeat writes a text as often as it takes to have so many bytes, or until nobody reads it.
func repeat(w io.Writer, text string, bytes int) {
	block := []byte(strings.Repeat(text, 1+(64<<10)/len(text)))
	for written := 0; written < bytes; written += len(block) {
		if _, err := w.Write(block); err != nil {
			return
		}
	}
}

// allocated is how many bytes a function allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

const widgetDiscovery = `{"kind":"APIResourceList","groupVersion":"hostile.example/v1","resources":[
	{"name":"widgets","kind":"Widget","namespaced":true,"verbs":["list"]},{"name":"widgets/status","kind":"Widget","namespaced":true,"verbs":["get"]}]}`

var widget = objects.Ref{GroupVersionKind: schema.GroupVersionKind{Group: "hostile.example", Version: "v1", Kind: "Widget"}, Namespace: "default", Name: "one"}

// widgets is a server that serves a kind of its own, and answers requests for its objects as it likes.
func widgets(t *testing.T, answer http.HandlerFunc) (*rig, *Cluster) {
	t.Helper()
	access := hostileServer(t, func(w http.ResponseWriter, request *http.Request) {
		if request.URL.Path == "/apis/hostile.example/v1" {
			_, _ = io.WriteString(w, widgetDiscovery)
			return
		}
		answer(w, request)
	})
	limits := timeouts()
	// It is to be worked with, whatever it answers and however busy this machine is.
	limits.Patience, limits.Request = patience, patience
	r := newRig(t, limits) // Its connection ends before the server does, which waits for that.
	return r, r.connected(access)
}

func TestAnswersAreNotReadBeyondTheirLimit(t *testing.T) {
	get := func(c *Cluster) error { _, err := c.Get(t.Context(), widget); return err }
	lookup := func(c *Cluster) error { _, err := c.Lookup(t.Context(), widget); return err }
	lookupAll := func(c *Cluster) error {
		all := widget
		all.Name = ""
		_, err := c.Lookup(t.Context(), all)
		return err
	}
	list := func(c *Cluster) error {
		_, err := c.List(t.Context(), widget.GroupVersionKind, "default", "")
		return err
	}
	apply := func(c *Cluster) error { _, err := c.Apply(t.Context(), widget, "", []byte(`{}`), true); return err }
	versions := func(c *Cluster) error { _, err := c.APIVersions(); return err }
	secrets := func(c *Cluster) error {
		client, err := c.Secrets("default")
		if err != nil {
			return err
		}
		_, err = client.Get(t.Context(), "one", metav1.GetOptions{})
		return err
	}
	const large = "is not read any further"
	values := func(prefix string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, prefix)
			repeat(w, "{},", endless)
		}
	}
	text := func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"metadata":{"annotations":{"a":"`)
		repeat(w, "x", endless)
	}
	page := func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"metadata":{"resourceVersion":"1"},"items":[`)
		repeat(w, `{"metadata":{"name":"x","namespace":"default","annotations":{"a":"`+strings.Repeat("x", 1000)+`"}}},`, endless)
	}
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	repeat(zip, " ", endless)
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		ask    func(*Cluster) error
		answer http.HandlerFunc
		want   string
	}{
		"compressed": {get, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(packed.Bytes())
		}, "compressed"},
		"protobuf": {get, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/vnd.kubernetes.protobuf")
			repeat(w, "\x12\x00", endless)
		}, "instead of JSON"},
		"YAML": {get, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/yaml")
			_, _ = io.WriteString(w, "a: &a [x]\nb: *a\n")
		}, "instead of JSON"},
		"length that is told before": {get, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000000000")
			w.WriteHeader(http.StatusOK)
		}, large},
		"large metadata":         {get, text, large},
		"many values":            {get, values(`{"metadata":{"managedFields":[`), large},
		"large object":           {lookup, text, large},
		"object of many values":  {lookup, values(`{"spec":[`), large},
		"answer to a write":      {apply, text, large},
		"error":                  {apply, func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusConflict); text(w, r) }, large},
		"page of a list":         {list, page, "larger than"},
		"item of a list":         {list, values(`{"items":[{"metadata":{"managedFields":[`), large},
		"found by a lookup":      {lookupAll, page, "larger than"},
		"values of a lookup":     {lookupAll, values(`{"items":[{"spec":[`), large},
		"text outside of a list": {list, text, large},
		"secret":                 {secrets, text, large},
		"API groups":             {versions, values(`{"groups":[`), large},
	} {
		t.Run(name, func(t *testing.T) {
			_, cluster := widgets(t, c.answer)
			var err error
			got := allocated(func() { err = c.ask(cluster) })
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got error %.300v, want one that says %q", err, c.want)
			}
			if got > affordable {
				t.Errorf("%d MiB were allocated", got/mebi)
			}
		})
	}
}

// watchedWidget claims the widget and begins to watch its kind.
func watchedWidget(t *testing.T, cluster *Cluster) objects.Key {
	t.Helper()
	key := objects.Key{GroupKind: widget.GroupKind(), Namespace: widget.Namespace, Name: widget.Name}
	cluster.Tracker.Claim(release, key)
	if err := cluster.Watch(t.Context(), widget.GroupVersionKind); err != nil {
		t.Fatal(err)
	}
	return key
}

var ballast = strings.Repeat("x", mebi)

func largeWidget(name, version string) string {
	return fmt.Sprintf(`{"apiVersion":"hostile.example/v1","kind":"Widget","metadata":{"namespace":"default","name":%q,"uid":%[1]q,"resourceVersion":%q},"spec":{"ballast":"%s"},"status":{}}`,
		name, version, ballast)
}

func TestLargeObjectsAreListedFewAtATime(t *testing.T) {
	const count = 40
	var mu sync.Mutex
	var largest int64
	r, cluster := widgets(t, func(w http.ResponseWriter, request *http.Request) {
		query := request.URL.Query()
		if query.Has("watch") {
			<-request.Context().Done()
			return
		}
		limit, _ := strconv.Atoi(query.Get("limit"))
		first, _ := strconv.Atoi(query.Get("continue"))
		next := ""
		if first+limit < count {
			next = strconv.Itoa(first + limit)
		}
		fmt.Fprintf(w, `{"kind":"WidgetList","apiVersion":"hostile.example/v1","metadata":{"resourceVersion":"7","continue":%q},"items":[`, next)
		for i := first; i < min(first+limit, count); i++ {
			if i > first {
				_, _ = io.WriteString(w, ",")
			}
			name := fmt.Sprintf("theirs-%d", i)
			if i == count-1 {
				name = widget.Name
			}
			_, _ = io.WriteString(w, largeWidget(name, "5"))
		}
		_, _ = io.WriteString(w, `]}`)
		var now runtime.MemStats
		runtime.ReadMemStats(&now)
		mu.Lock()
		defer mu.Unlock()
		largest = max(largest, int64(now.HeapAlloc))
	})
	var before runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	key := watchedWidget(t, cluster)
	r.eventually("the last of the widgets is seen", func() bool {
		seen, _ := cluster.Tracker.Look(key)
		return seen != nil && !seen.Gone && seen.UID == "one"
	})
	mu.Lock()
	defer mu.Unlock()
	if grown := largest - int64(before.HeapAlloc); grown > affordable/2 {
		t.Errorf("the heap grew by %d MiB for %d MiB of objects", grown/mebi, count)
	}
}

func TestEventsOfAWatchAreBounded(t *testing.T) {
	for name, c := range map[string]struct {
		send func(io.Writer)
		want string
	}{
		"endless": {func(w io.Writer) { repeat(w, `{"type":"ADDED","object":{"a":"x`, 1); repeat(w, "x", endless) }, "is not read any further"},
		"many values": {func(w io.Writer) {
			_, _ = io.WriteString(w, `{"type":"ADDED","object":{"a":[`)
			repeat(w, "{},", endless)
		}, "is not read any further"},
		"many lines": {func(w io.Writer) {
			_, _ = io.WriteString(w, `{"type":"ADDED","object":{"a":[`)
			repeat(w, "1,\n", endless)
		}, "is not read any further"},
		"never complete":     {func(w io.Writer) { _, _ = io.WriteString(w, `{"type":"ADDED","object":{"a":`) }, "did not come within"},
		"of an unknown type": {func(w io.Writer) { _, _ = io.WriteString(w, `{"type":"`+strings.Repeat("x", 1000)+`","object":{}}`) }, "unknown type"},
	} {
		t.Run(name, func(t *testing.T) {
			_, cluster := widgets(t, func(w http.ResponseWriter, request *http.Request) {
				w.WriteHeader(http.StatusOK)
				c.send(w)
				w.(http.Flusher).Flush()
				<-request.Context().Done()
			})
			resource, err := cluster.Resource(t.Context(), widget.GroupVersionKind)
			if err != nil {
				t.Fatal(err)
			}
			var event watch.Event
			got := allocated(func() {
				reader := cluster.reader(resource, metav1.NamespaceAll)
				reader.EventTime = time.Second
				stream, err := reader.Watch(t.Context(), metav1.ListOptions{})
				if err != nil {
					t.Fatal(err)
				}
				defer stream.Stop()
				event = <-stream.ResultChan()
			})
			if event.Type != watch.Error {
				t.Fatalf("got %.300v, want an error", event)
			}
			if err := apierrors.FromObject(event.Object); !strings.Contains(err.Error(), c.want) {
				t.Errorf("got error %.300v, want one that says %q", err, c.want)
			}
			if got > affordable {
				t.Errorf("%d MiB were allocated", got/mebi)
			}
		})
	}
}

func TestAnAnswerThatIsNoListIsNotBelieved(t *testing.T) {
	for name, answer := range map[string]string{
		"something else":      `{"kind":"Widget"}`,
		"no JSON":             `<html>`,
		"no resource version": `{"kind":"WidgetList","items":[]}`,
		"cut off":             `{"metadata":{"resourceVersion":"7"},"items":[`,
		"items of text":       `{"metadata":{"resourceVersion":"7"},"items":"none"}`,
		"null":                `null`,
	} {
		t.Run(name, func(t *testing.T) {
			_, cluster := widgets(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, answer) })
			resource, err := cluster.Resource(t.Context(), widget.GroupVersionKind)
			if err != nil {
				t.Fatal(err)
			}
			version, err := cluster.sourceFor(resource).each(t.Context(), "", "", func(kruntime.Object) error { return nil }, func(bounded.Head) {})
			if err == nil || !strings.Contains(err.Error(), "widgets") {
				t.Errorf("got version %q and error %v, want one that names the kind", version, err)
			}
		})
	}
}

func TestWhatKeepsANamespaceIsFoundAmongLargeObjects(t *testing.T) {
	_, cluster := widgets(t, func(w http.ResponseWriter, request *http.Request) {
		limit, _ := strconv.Atoi(request.URL.Query().Get("limit"))
		item := `{"metadata":{"namespace":"default","name":"one","annotations":{"a":"` + strings.Repeat("x", 64<<10) + `"}}}`
		_, _ = io.WriteString(w, `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"7"},"items":[`+
			strings.TrimSuffix(strings.Repeat(item+",", min(limit, 500)), ",")+`]}`)
	})
	found, err := cluster.blocker(t.Context(), widget.GroupVersion().WithResource("widgets"), widget.Kind, widget.Namespace)
	if err != nil || found.Name != "one" {
		t.Errorf("got %+v, %v", found, err)
	}
}
