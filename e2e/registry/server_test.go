package registry

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/daytwo-dev/daytwo/e2e/charts"
)

func TestStalledRequestsAreAnsweredLater(t *testing.T) {
	server := start(t, Options{})
	push(t, server, "web", charts.FirstVersion)
	resume := server.Stall()
	client := trusting(t, server)

	impatient, cancel := context.WithCancel(t.Context())
	request, err := http.NewRequestWithContext(impatient, http.MethodGet, server.HTTPS()+"index.yaml", nil)
	if err != nil {
		t.Fatal(err)
	}
	gaveUp := make(chan error, 1)
	go func() {
		_, err := client.Do(request)
		gaveUp <- err
	}()
	patient := make(chan int, 1)
	go func() {
		response, err := client.Get(server.HTTPS() + "web-1.0.0.tgz")
		if err != nil {
			patient <- 0
			return
		}
		response.Body.Close()
		patient <- response.StatusCode
	}()

	eventually(t, "both requests have arrived", func() bool {
		requests := server.Requests()
		return requests["GET /repo/index.yaml"] == 1 && requests["GET /repo/web-1.0.0.tgz"] == 1
	})
	cancel()
	if err := <-gaveUp; !errors.Is(err, context.Canceled) {
		t.Errorf("an impatient client gets %v", err)
	}
	select {
	case status := <-patient:
		t.Errorf("a stalled registry answers with %d", status)
	default:
	}
	resume()
	if status := <-patient; status != http.StatusOK {
		t.Errorf("after that it answers with %d", status)
	}
}

func TestCloseEndsStalledRequests(t *testing.T) {
	server, err := Start(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	server.Stall()
	ended := make(chan error, 1)
	client := trusting(t, server)
	go func() {
		_, err := client.Get(server.HTTPS() + "index.yaml")
		ended <- err
	}()
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil {
		t.Error("a request was answered by a server that is closed")
	}
	if err := server.Close(); err != nil {
		t.Errorf("closing it once more: %v", err)
	}
}

func TestTheContextEndsIt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	server, err := Start(ctx, Options{})
	if err != nil {
		t.Fatal(err)
	}
	client := trusting(t, server)
	cancel()
	eventually(t, "nobody answers", func() bool {
		response, err := client.Get(server.HTTPS())
		if err == nil {
			response.Body.Close()
		}
		return err != nil
	})
	if err := server.Close(); err != nil {
		t.Errorf("closing it after that: %v", err)
	}
}
