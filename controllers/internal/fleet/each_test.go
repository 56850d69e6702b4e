package fleet

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// A cluster decides what it answers, and how often it says that there is more.
func TestEachReadsNoMoreThanItsLimit(t *testing.T) {
	item := func(i int) string {
		return fmt.Sprintf(`{"metadata":{"namespace":"default","name":"w%d","uid":"%d","resourceVersion":"5"},"spec":{"a":1}}`, i, i)
	}
	for name, row := range map[string]struct {
		pages [][]string
		more  bool
		want  string
		read  int
	}{
		"some pages":                     {pages: [][]string{{item(1), item(2)}, {item(3)}}, read: 3},
		"more objects than the limit":    {pages: [][]string{{item(1), item(2), item(3)}, {item(4), item(5), item(6)}}, more: true, want: "more than 5", read: 5},
		"pages without end, and nothing": {pages: [][]string{{}}, more: true, want: "a page without objects"},
	} {
		t.Run(name, func(t *testing.T) {
			_, cluster := widgets(t, func(w http.ResponseWriter, request *http.Request) {
				at := len(request.URL.Query().Get("continue"))
				token := ""
				if at+1 < len(row.pages) || row.more {
					token = strings.Repeat("x", at+1)
				}
				_, _ = fmt.Fprintf(w, `{"metadata":{"resourceVersion":"7","continue":%q},"items":[%s]}`, token, strings.Join(row.pages[min(at, len(row.pages)-1)], ","))
			})
			read := 0
			err := cluster.Each(t.Context(), widget.GroupVersionKind, metav1.NamespaceAll, "", 5, func(object *unstructured.Unstructured) error {
				if read++; object.GetKind() != widget.Kind || object.Object["spec"] == nil {
					t.Errorf("got %v", object.Object)
				}
				return nil
			})
			if read != row.read || (err == nil) != (row.want == "") || err != nil && !strings.Contains(err.Error(), row.want) {
				t.Errorf("read %d, %v; want %d, %q", read, err, row.read, row.want)
			}
		})
	}
}
