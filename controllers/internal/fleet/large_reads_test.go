package fleet

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/bounded"
)

func TestOneLargeObjectOfAClusterIsReadAtATime(t *testing.T) {
	const large = 64 << 10 // More than that is read in turns.
	object := func(size int) string {
		return fmt.Sprintf(`{"apiVersion":"hostile.example/v1","kind":"Widget","metadata":{"namespace":"default","name":"one","uid":"1","resourceVersion":"5","annotations":{"a":%q}}}`,
			strings.Repeat("x", size))
	}
	_, cluster := widgets(t, func(w http.ResponseWriter, request *http.Request) {
		size := 2 * large
		if request.URL.Query().Get("labelSelector") == "small" || strings.HasSuffix(request.URL.Path, "/small") {
			size = large / 2
		}
		switch {
		case request.URL.Query().Has("watch"):
			_, _ = fmt.Fprintf(w, `{"type":"ADDED","object":%s}`, object(size))
			_ = http.NewResponseController(w).Flush()
			<-request.Context().Done()
		case strings.HasSuffix(request.URL.Path, "/widgets"):
			_, _ = fmt.Fprintf(w, `{"metadata":{"resourceVersion":"7"},"items":[%s]}`, object(size))
		default:
			_, _ = io.WriteString(w, object(size))
		}
	})
	resource, err := cluster.Resource(t.Context(), widget.GroupVersionKind)
	if err != nil {
		t.Fatal(err)
	}
	reader := cluster.reader(resource, metav1.NamespaceAll)
	for name, read := range map[string]func(which string) error{
		"an event": func(which string) error {
			stream, err := reader.Watch(t.Context(), metav1.ListOptions{LabelSelector: which})
			if err != nil {
				return err
			}
			defer stream.Stop()
			if event := <-stream.ResultChan(); event.Type != "ADDED" {
				return fmt.Errorf("got %.300v", event)
			}
			return nil
		},
		"a list": func(which string) error {
			_, err := reader.List(t.Context(), metav1.ListOptions{LabelSelector: which}, func(kruntime.Object) error { return nil })
			return err
		},
		"an object": func(which string) error {
			one := widget
			one.Name = which
			_, err := cluster.Get(t.Context(), one)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			other := bounded.Share{Turn: cluster.connection.pace.Large}
			if err := other.Take(t.Context().Done()); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- read("large") }()
			if err := read("small"); err != nil {
				t.Errorf("a small one has to wait: %v", err)
			}
			select {
			case err := <-ended:
				t.Errorf("a large one is read while another is: %v", err)
			default:
			}
			other.Give()
			if err := <-ended; err != nil {
				t.Errorf("a large one is not read when its turn has come: %v", err)
			}
			if !isFree(other.Turn) {
				t.Error("the turn was not given back")
			}
		})
	}
}

// isFree is whether nobody has the turn at the moment. With no time to wait, Take fails while somebody has it; if nobody
// has, it takes it or fails by chance, but not a hundred times.
func isFree(turn *bounded.Turn) bool {
	over := make(chan struct{})
	close(over)
	for range 100 {
		one := bounded.Share{Turn: turn}
		if err := one.Take(over); err == nil {
			one.Give()
			return true
		}
	}
	return false
}
