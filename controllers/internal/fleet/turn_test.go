package fleet

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"
)

// TestAClusterThatExceedsALimitSendsNothingLargeForAWhile: what is small is read all the time.
func TestAClusterThatExceedsALimitSendsNothingLargeForAWhile(t *testing.T) {
	t.Parallel()
	clock := clocktesting.NewFakePassiveClock(time.Now())
	turn := newTurn(clock)
	list := func(size int) error {
		_, err := readList(strings.NewReader(`{"metadata":{"resourceVersion":"7"},"items":["`+strings.Repeat("x", size)+`"]}`), turn, nil,
			func([]byte) error { return nil })
		return err
	}
	var limit *limitError
	for _, pause := range []time.Duration{firstPause, 2 * firstPause, 4 * firstPause} {
		if err := list(maxFrame); !errors.As(err, &limit) {
			t.Fatalf("an object that is too large: %v", err)
		}
		if err := list(2 * largeRead); err == nil || !strings.Contains(err.Error(), "for "+pause.String()) {
			t.Errorf("within the pause of %s: %v", pause, err)
		}
		if err := list(largeRead / 2); err != nil {
			t.Errorf("a small object within the pause: %v", err)
		}
		clock.SetTime(clock.Now().Add(pause))
		if err := list(2 * largeRead); err != nil {
			t.Errorf("after the pause of %s: %v", pause, err)
		}
	}
	clock.SetTime(clock.Now().Add(pardonAfter + time.Second))
	if err := list(maxFrame); !errors.As(err, &limit) {
		t.Fatal(err)
	}
	clock.SetTime(clock.Now().Add(firstPause))
	if err := list(2 * largeRead); err != nil {
		t.Errorf("a server that was sound for long is not paused for longer than %s: %v", firstPause, err)
	}
}

func TestOneLargeObjectOfAClusterIsReadAtATime(t *testing.T) {
	object := func(size int) string {
		return fmt.Sprintf(`{"apiVersion":"hostile.example/v1","kind":"Widget","metadata":{"namespace":"default","name":"one","uid":"1","resourceVersion":"5","annotations":{"a":%q}}}`,
			strings.Repeat("x", size))
	}
	_, cluster := widgets(t, func(w http.ResponseWriter, request *http.Request) {
		size := 2 * largeRead
		if request.URL.Query().Get("labelSelector") == "small" || strings.HasSuffix(request.URL.Path, "/small") {
			size = largeRead / 2
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
			stream, err := reader.watch(t.Context(), metav1.ListOptions{LabelSelector: which})
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
			_, err := reader.list(t.Context(), metav1.ListOptions{LabelSelector: which}, func(kruntime.Object) error { return nil })
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
			other := share{turn: cluster.connection.pace.large}
			if err := other.take(t.Context().Done()); err != nil {
				t.Fatal(err)
			}
			large := make(chan error, 1)
			go func() { large <- read("large") }()
			if err := read("small"); err != nil {
				t.Errorf("a small one has to wait: %v", err)
			}
			select {
			case err := <-large:
				t.Errorf("a large one is read while another is: %v", err)
			default:
			}
			other.give()
			if err := <-large; err != nil {
				t.Errorf("a large one is not read when its turn has come: %v", err)
			}
			if len(cluster.connection.pace.large.slot) != 0 {
				t.Error("the turn was not given back")
			}
		})
	}
}
