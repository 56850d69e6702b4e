package expect

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// Main runs the tests of a package, so many at a time: they wait more than they work, so that processors are no
// measure. start brings up what they stand on, with its state in dir, and returns how that ends. Nothing is left
// behind, except the directory when a test failed. The result is the exit code.
func Main(m *testing.M, parallel int, start func(ctx context.Context, dir string) (end func() error, err error)) int {
	flag.Parse()
	_ = flag.Set("test.parallel", strconv.Itoa(parallel)) // The flag exists.
	log.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	rest.SetDefaultWarningHandler(rest.NoWarnings{})
	code, err := run(m, start)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

func run(m *testing.M, start func(context.Context, string) (func() error, error)) (code int, err error) {
	dir, err := os.MkdirTemp("", "daytwo-e2e")
	if err != nil {
		return 1, err
	}
	defer func() {
		if code == 0 && err == nil {
			err = os.RemoveAll(dir)
			return
		}
		fmt.Fprintln(os.Stderr, "logs are in", dir)
	}()
	end, err := start(context.Background(), dir)
	if end != nil {
		defer func() {
			if endErr := end(); err == nil {
				err = endErr
			}
		}()
	}
	if err != nil {
		return 1, err
	}
	return m.Run(), nil
}
