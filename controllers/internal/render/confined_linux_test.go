package render

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/daytwo-dev/daytwo/controllers/internal/render/manifest"
	"github.com/daytwo-dev/daytwo/controllers/internal/render/sandbox"
)

// tryToLeave names the environment variable that makes the test do in a process of its own what a
// worker must not be able to. It holds the address of a server.
const tryToLeave = "DAYTWO_TRY_TO_LEAVE"

// leave reports every way out of a confined process that is open.
func leave(address string) {
	shutOff()
	if err := sandbox.Confine(256 << 20); err != nil {
		fmt.Println(err)
	}
	if _, err := os.ReadFile("/etc/passwd"); err == nil {
		fmt.Println("a file can be read")
	}
	if _, err := net.DialTimeout("tcp", address, time.Second); err == nil {
		fmt.Println("a connection can be made")
	}
	if _, err := net.LookupHost("localhost.example.com"); err == nil {
		fmt.Println("a name can be looked up")
	}
	if _, err := http.Get("http://" + address); err == nil {
		fmt.Println("a page can be fetched")
	}
	if err := exec.Command("/bin/true").Run(); err == nil {
		fmt.Println("a program can be run")
	}
	// Timers need files of the runtime's own, which are open already.
	<-time.After(time.Millisecond)
	fmt.Println("done")
}

func TestAConfinedProcessHasNoWayOut(t *testing.T) {
	if address := os.Getenv(tryToLeave); address != "" {
		leave(address)
		os.Exit(0)
	}
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	confined := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$")
	confined.Env = []string{tryToLeave + "=" + server.Listener.Addr().String()}
	output, err := confined.CombinedOutput()
	if err != nil || string(output) != "done\n" {
		t.Errorf("got %v:\n%s", err, output)
	}
}

func TestASchemaIsNotFetched(t *testing.T) {
	var requests atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		fmt.Fprint(w, "{}")
	}))
	defer server.Close()
	pool := newTestPool(t, Options{Workers: 1})
	for _, schema := range []string{
		`{"$ref": "` + server.URL + `/x.json"}`,
		`{"$id": "` + server.URL + `/a/b.json", "properties": {"a": {"$ref": "c.json"}}}`,
		`{"$schema": "` + server.URL + `/schema"}`,
		`{"properties": {"a": {"$dynamicRef": "` + strings.Replace(server.URL, "http", "https", 1) + `/x.json"}}}`,
	} {
		_, err := pool.RenderChart(context.Background(), chartRequest(t, valkey("").with(entries{"values.schema.json": schema})))
		wantRefusal(t, err, manifest.ChartRefused, "the values.schema.json of the chart valkey refers to", "nothing is fetched for a schema")
	}
	if requests.Load() > 0 {
		t.Errorf("%d requests were made", requests.Load())
	}
}
