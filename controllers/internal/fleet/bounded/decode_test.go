package bounded

import (
	"bytes"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/clock"

	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/resources"
)

func testReader(whole bool) Reader {
	return Reader{
		Resource:  resources.Resource{GroupVersionResource: schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, Kind: "Deployment"},
		Whole:     whole,
		Wanted:    func(_, name string) bool { return name == "wanted" },
		Decoding:  &sync.Mutex{},
		EventTime: time.Minute,
	}
}

func decodeEvent(t testing.TB, reader Reader, event string) (watch.EventType, *metav1.PartialObjectMetadata, error) {
	t.Helper()
	decoder := &eventDecoder{reader: reader, frames: newFrames(io.NopCloser(strings.NewReader(event)), reader.EventTime, nil)}
	defer decoder.Close()
	kind, object, err := decoder.Decode()
	if err != nil {
		return kind, nil, err
	}
	if whole, ok := object.(*WholeObject); ok {
		return kind, whole.PartialObjectMetadata, nil
	}
	return kind, object.(*metav1.PartialObjectMetadata), nil
}

func TestAnEventIsReadWhateverTheOrderOfItsMembers(t *testing.T) {
	t.Parallel()
	const object = `{"metadata":{"name":"wanted","resourceVersion":"7","labels":{"a":"b"}},"status":{"replicas":1}}`
	for name, event := range map[string]string{
		"type first":      `{"type":"MODIFIED","object":` + object + `}`,
		"object first":    `{ "object" : ` + object + ` , "type" : "MODIFIED" }`,
		"something else":  `{"note":[1,{"object":2}],"type":"MODIFIED","object":` + object + `,"more":null}`,
		"escaped letters": `{"type":"MODIFIED","object":` + strings.Replace(object, `"b"`, `"b","c":"\"}]\\"`, 1) + `}`,
	} {
		for _, whole := range []bool{true, false} {
			kind, partial, err := decodeEvent(t, testReader(whole), event)
			if err != nil || kind != watch.Modified || partial.Name != "wanted" || partial.ResourceVersion != "7" || partial.Labels["a"] != "b" {
				t.Errorf("%s, whole: %t: %s %+v %v", name, whole, kind, partial, err)
			}
		}
	}
}

func TestAnUnwantedObjectIsToldOfAndItsEventIsABookmark(t *testing.T) {
	t.Parallel()
	for name, ballast := range map[string]string{"small": "", "large": strings.Repeat("x", 2*largeRead)} {
		reader := testReader(true)
		var told []string
		reader.Unwanted = func(head Head, gone bool) {
			if gone {
				told = append(told, head.name)
			}
		}
		reader.EventTime = time.Minute
		frames := newFrames(io.NopCloser(strings.NewReader(
			`{"type":"DELETED","object":{"metadata":{"name":"other","resourceVersion":"9"},"data":"`+ballast+`"}}`)), time.Minute, newTurn(clock.RealClock{}))
		kind, object, err := (&eventDecoder{reader: reader, frames: frames}).Decode()
		partial, isMetadata := object.(*metav1.PartialObjectMetadata)
		if err != nil || kind != watch.Bookmark || !isMetadata || partial.ResourceVersion != "9" || len(told) != 1 || told[0] != "other" {
			t.Errorf("%s: %s %+v %v, told of %v", name, kind, object, err, told)
		}
	}
}

// BenchmarkEvent decodes an event of a Deployment as an API server sends it, with the managed fields of four managers.
func BenchmarkEvent(b *testing.B) {
	fields := `{"f:metadata":{"f:labels":{"f:app":{}}},"f:spec":{"f:replicas":{},"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":{".":{},"f:image":{}}}}}}}`
	var managers []string
	for _, name := range []string{"daytwo-1", "kube-controller-manager", "kubectl-edit", "kwok"} {
		managers = append(managers, `{"manager":"`+name+`","operation":"Update","apiVersion":"apps/v1","time":"2026-01-01T00:00:00Z","fieldsType":"FieldsV1","fieldsV1":`+fields+`}`)
	}
	event := []byte(`{"type":"MODIFIED","object":{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"wanted","namespace":"default","uid":"1","resourceVersion":"7",` +
		`"managedFields":[` + strings.Join(managers, ",") + `]},"spec":{"replicas":2,"selector":{"matchLabels":{"app":"web"}},` +
		`"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"web","image":"web:1"}]}}},` +
		`"status":{"replicas":2,"readyReplicas":2,"conditions":[{"type":"Available","status":"True"}]}}}`)
	for name, whole := range map[string]bool{"whole": true, "metadata": false} {
		b.Run(name, func(b *testing.B) {
			reader := testReader(whole)
			b.SetBytes(int64(len(event)))
			b.ReportAllocs()
			for b.Loop() {
				decoder := &eventDecoder{reader: reader, frames: newFrames(io.NopCloser(bytes.NewReader(event)), time.Minute, nil)}
				if _, _, err := decoder.Decode(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
