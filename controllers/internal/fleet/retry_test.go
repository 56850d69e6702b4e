package fleet

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/daytwo-dev/daytwo/controllers/internal/kubeconfig"
)

// An address that leads to another cluster every time must not keep the manager busy.
func TestAddressOfAlternatingClustersIsAskedWithPauses(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if request.URL.Path == "/version" {
			_, _ = w.Write([]byte(`{"gitVersion":"v1.36.3"}`))
			return
		}
		_, _ = w.Write([]byte(`{"metadata":{"uid":"` + strconv.Itoa(int(asked.Add(1))) + `"}}`))
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()

	limits := timeouts()
	limits.Probe = 10 * time.Millisecond
	r := newRig(t, limits)
	start := time.Now()
	r.fleet.Connect(r.key, kubeconfig.Access{
		Server: server.URL, Token: token, CAData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
	})
	// Each contact asks twice, for the identity and in the probe that finds another one.
	const asks = 6
	r.eventually("it was asked again", func() bool { return asked.Load() >= asks })
	if took := time.Since(start); took < 2*time.Second {
		t.Errorf("asked %d times within %s", asks, took)
	}
}
