package faults

import (
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const noAnswer = "no answer in time"

// problemOf tells what a client was told, without the words of the layer that gave up.
func problemOf(err error) string {
	var problem net.Error
	if errors.As(err, &problem) && problem.Timeout() {
		return noAnswer
	}
	return err.Error()
}

// start also sees to it that the server can be closed with a client in it.
func start(t *testing.T, fault Fault) *Server {
	t.Helper()
	server, err := Start(fault)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return server
}

// get asks as any client with the kubeconfig would.
func get(t *testing.T, server *Server) (*http.Response, error) {
	t.Helper()
	kubeconfig, err := server.Kubeconfig()
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	// Less than a round trip takes where one is possible, and much less than it takes to give up.
	config.Timeout = time.Second
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.CloseIdleConnections)
	response, err := client.Get(config.Host + "/api/v1/namespaces/kube-system")
	if err == nil {
		t.Cleanup(func() { _ = response.Body.Close() })
	}
	return response, err
}

func TestEachFaultIsWhatAClientSees(t *testing.T) {
	tests := map[string]struct {
		status  int
		problem string
		counted bool
	}{
		"closed-port":       {problem: "connection refused"},
		"swallowed-packets": {problem: noAnswer},
		"silence":           {problem: noAnswer, counted: true},
		"endless-handshake": {problem: noAnswer, counted: true},
		"too-many-requests": {status: http.StatusTooManyRequests, counted: true},
		"internal-errors":   {status: http.StatusInternalServerError, counted: true},
		"slow-answers":      {problem: noAnswer, counted: true},
		"wrong-authority":   {problem: "unknown authority", counted: true},
	}
	if len(tests) != len(All()) {
		t.Errorf("%d faults are tested, of %d", len(tests), len(All()))
	}
	for _, fault := range All() {
		t.Run(fault.Name, func(t *testing.T) {
			t.Parallel()
			test, server := tests[fault.Name], start(t, fault)
			if attempts, _ := server.Attempts(); attempts != 0 {
				t.Errorf("before the first attempt there were %d", attempts)
			}
			for try := 1; try <= 2; try++ {
				response, err := get(t, server)
				switch {
				case test.problem != "" && (err == nil || !strings.Contains(problemOf(err), test.problem)):
					t.Errorf("the client got %v, %v, and not %q", response, err, test.problem)
				case test.problem == "" && (err != nil || response.StatusCode != test.status || response.ProtoMajor != 2):
					t.Errorf("the client got %v, %v, and not %d over HTTP/2", response, err, test.status)
				}
				attempts, counted := server.Attempts()
				if counted != test.counted || counted && attempts != try {
					t.Errorf("attempt %d is counted: %v, as %d", try, counted, attempts)
				}
			}
		})
	}
}

func TestTooManyRequestsSaysWhenToTryAgain(t *testing.T) {
	for _, fault := range All() {
		if fault.Name != "too-many-requests" {
			continue
		}
		response, err := get(t, start(t, fault))
		if err != nil || response.Header.Get("Retry-After") != retryAfter {
			t.Errorf("the client got %v, %v", response, err)
		}
	}
}
