package faults

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// defaultPage is how many objects a page has where the client sets no limit.
const defaultPage = 500

// EndlessPages answers a list with pages of small objects, as many as the client asks for at a time, and says each time
// that there are more. The objects that are really there are in every page, so that none of them counts as gone.
func EndlessPages() Action {
	var count atomic.Int64
	return func(e Exchange) {
		real := e.objects()
		e.list("more", func(i int) []byte {
			if i < len(real) {
				return encodeJSON(real[i])
			}
			return fmt.Appendf(nil, `{"metadata":{"name":"theirs-%d","namespace":"default","uid":"%[1]d","resourceVersion":"1"}}`, count.Add(1))
		})
	}
}

// HugeObjects answers a list with as many objects as the client asks for at a time, each with so many bytes of data.
func HugeObjects(size int) Action {
	ballast := strings.Repeat("x", size)
	return func(e Exchange) {
		e.list("", func(i int) []byte {
			return fmt.Appendf(nil, `{"metadata":{"name":"theirs-%d","namespace":"default","uid":"%[1]d","resourceVersion":"1"},"data":{"ballast":%q}}`, i, ballast)
		})
	}
}

// list answers with one page.
func (e Exchange) list(next string, item func(int) []byte) {
	limit, err := strconv.Atoi(e.Request.URL.Query().Get("limit"))
	if err != nil {
		limit = defaultPage
	}
	e.begin(http.StatusOK)
	fmt.Fprintf(e.Response, `{"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":"1","continue":%q},"items":[`, next)
	for i := range limit {
		if i > 0 {
			e.write([]byte(","))
		}
		if !e.write(item(i)) {
			return
		}
	}
	e.write([]byte(`]}`))
}

// SwellList answers a list with the objects that are there, each with a field of so many bytes in its metadata that
// another program is said to have added.
func SwellList(size int) Action {
	return func(e Exchange) {
		objects := e.objects()
		e.begin(http.StatusOK)
		e.write([]byte(`{"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[`))
		for i, object := range objects {
			if i > 0 {
				e.write([]byte(","))
			}
			e.write(swollen(object, size, object.GetResourceVersion()))
		}
		e.write([]byte(`]}`))
	}
}

// SwellEvents opens a watch that shows each of the objects that are there as changed, with such a field, in a new version,
// and begins again after the last.
func SwellEvents(size int) Action {
	return func(e Exchange) {
		objects := e.objects()
		if e.openWatch() != nil {
			return
		}
		if len(objects) == 0 {
			e.hold()
		}
		for version := 1 << 40; ; version++ {
			for _, object := range objects {
				if !e.write(fmt.Appendf(nil, "{\"type\":\"MODIFIED\",\"object\":%s}\n", swollen(object, size, strconv.Itoa(version)))) {
					return
				}
			}
		}
	}
}

// swollen is an object as somebody else may have made it.
func swollen(object unstructured.Unstructured, size int, version string) []byte {
	changed := object.DeepCopy()
	changed.SetResourceVersion(version)
	changed.SetAnnotations(map[string]string{"ballast": strings.Repeat("x", size), "version": version})
	entries, _, _ := unstructured.NestedSlice(changed.Object, "metadata", "managedFields") // Without any there is one.
	entries = append(entries, map[string]any{
		"manager": "kubectl-edit", "operation": "Update", "apiVersion": object.GetAPIVersion(), "fieldsType": "FieldsV1", "time": "2026-01-01T00:00:00Z",
		"fieldsV1": map[string]any{"f:metadata": map[string]any{"f:annotations": map[string]any{"f:ballast": map[string]any{}, "f:" + version: map[string]any{}}}},
	})
	changed.Object["metadata"].(map[string]any)["managedFields"] = entries
	return encodeJSON(*changed)
}

func encodeJSON(object unstructured.Unstructured) []byte {
	content, err := json.Marshal(object.Object)
	if err != nil {
		panic(err) // It was decoded from JSON.
	}
	return content
}

// objects are those that the API server has for a list or a watch; none if it cannot tell.
func (e Exchange) objects() []unstructured.Unstructured {
	request := legible(e.Request)
	request.Header.Set("Accept", "application/json")
	query := request.URL.Query()
	selector := query.Get("labelSelector")
	clear(query)
	if selector != "" {
		query.Set("labelSelector", selector)
	}
	request.URL.RawQuery = query.Encode()
	answer := httptest.NewRecorder()
	e.Backend.ServeHTTP(answer, request)
	var list struct {
		Items []map[string]any `json:"items"`
	}
	if err := json.Unmarshal(answer.Body.Bytes(), &list); err != nil {
		return nil
	}
	objects := make([]unstructured.Unstructured, 0, len(list.Items))
	for _, item := range list.Items {
		if _, ok := item["metadata"].(map[string]any); ok {
			objects = append(objects, unstructured.Unstructured{Object: item})
		}
	}
	return objects
}
