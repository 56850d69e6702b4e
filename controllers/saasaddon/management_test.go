package saasaddon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"go.uber.org/zap/zapcore"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
)

const providerNamespace = "daytwo-system"

// The tests share one API server and one manager; each has namespaces of its own.
var (
	server  envtest.Environment
	stop    = func() error { return nil }
	running = sync.OnceValues(startManagement)
)

func TestMain(m *testing.M) {
	code := m.Run()
	if err := stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// newManagement returns access to a management API server with Daytwo's CRDs, on which the
// controller runs.
func newManagement(t *testing.T) *rest.Config {
	t.Helper()
	config, err := running()
	if err != nil {
		t.Fatalf("start the management cluster: %v", err)
	}
	return config
}

func startManagement() (*rest.Config, error) {
	log.SetLogger(zap.New(zap.Level(zapcore.ErrorLevel), zap.WriteTo(os.Stderr)))
	server.CRDDirectoryPaths = []string{filepath.Join("..", "..", "config", "crd", "bases")}
	server.ErrorIfCRDPathMissing = true
	config, err := server.Start()
	if err != nil {
		return nil, err
	}
	stop = server.Stop
	config.QPS = -1

	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	mgr, err := newManager(config)
	if err != nil {
		cancel()
		return nil, err
	}
	go func() { ended <- mgr.Start(ctx) }()
	stop = func() error {
		cancel()
		return errors.Join(<-ended, server.Stop())
	}
	return config, nil
}

func newManager(config *rest.Config) (ctrl.Manager, error) {
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:  newScheme(),
		Metrics: metricsserver.Options{BindAddress: "0"},
	})
	if err != nil {
		return nil, err
	}
	reconciler := &Reconciler{
		Client:            mgr.GetClient(),
		Live:              mgr.GetAPIReader(),
		Events:            mgr.GetEventRecorder("saasaddon"),
		Clock:             clock.RealClock{},
		ProviderNamespace: providerNamespace,
	}
	return mgr, reconciler.SetupWithManager(mgr, Options{})
}

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, addonsv1alpha1.AddToScheme, tenancyv1alpha1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			panic(err)
		}
	}
	return scheme
}

func newClient(t *testing.T, config *rest.Config) client.Client {
	t.Helper()
	c, err := client.New(config, client.Options{Scheme: newScheme()})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
