package saasaddon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"

	"go.uber.org/zap/zapcore"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/daytwo-dev/daytwo/apis"
	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/charts"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
	"github.com/daytwo-dev/daytwo/controllers/internal/render"
	"github.com/daytwo-dev/daytwo/tools/local/localfleet"
	"github.com/daytwo-dev/daytwo/tools/local/manifests"
)

const providerNamespace = "daytwo-system"

// The tests share one API server and one manager; each has namespaces of its own.
var (
	stop    = func() error { return nil }
	running = sync.OnceValues(startManagement)
	// ineffective are the names of the targets whose first deletion is answered by something else than the API server.
	ineffective sync.Map
	// contested are the names of the add-ons the first of whose statuses that tells of an abandoned target meets a conflict.
	contested sync.Map
)

// answering is a client some of whose deletions have no effect, though they succeed.
type answering struct{ client.Client }

// Delete implements client.Client.
func (a answering) Delete(ctx context.Context, object client.Object, options ...client.DeleteOption) error {
	if _, known := ineffective.LoadAndDelete(object.GetName()); known {
		return nil
	}
	return a.Client.Delete(ctx, object, options...)
}

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == render.WorkerArgument {
		os.Exit(render.WorkerMain(os.Args[2:]))
	}
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
	dir, err := os.MkdirTemp("", "saasaddon")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	fleet, err := localfleet.Start(ctx, localfleet.Options{
		StateDir: dir, ClusterOptions: localfleet.ClusterOptions{Bare: true}, Progress: os.Stderr,
	})
	if err != nil {
		cancel()
		return nil, err
	}
	config := fleet.Management().Config()
	stop = func() error {
		cancel()
		return errors.Join(fleet.Close(), os.RemoveAll(dir))
	}
	definitions, err := manifests.Load("../../config/crd/bases")
	if err != nil {
		return nil, err
	}
	if err := manifests.Apply(ctx, config, definitions); err != nil {
		return nil, err
	}
	mgr, err := newManager(config)
	if err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	stop = func() error {
		cancel()
		return errors.Join(<-ended, fleet.Close(), os.RemoveAll(dir))
	}
	return config, nil
}

// Status implements client.Client.
func (a answering) Status() client.SubResourceWriter { return answeringStatus{a.Client.Status()} }

type answeringStatus struct{ client.SubResourceWriter }

// Patch implements client.SubResourceWriter.
func (a answeringStatus) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
	if addon, ok := object.(*addonsv1alpha1.SaaSAddon); ok && len(addon.Status.Abandoned) > 0 {
		if _, known := contested.LoadAndDelete(addon.Name); known {
			return apierrors.NewConflict(addonsv1alpha1.GroupVersion.WithResource("saasaddons").GroupResource(), addon.Name, errors.New("it was changed"))
		}
	}
	return a.SubResourceWriter.Patch(ctx, object, patch, options...)
}

func newManager(config *rest.Config) (ctrl.Manager, error) {
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:  apis.NewScheme(),
		Metrics: metricsserver.Options{BindAddress: "0"},
	})
	if err != nil {
		return nil, err
	}
	pool := render.NewPool(render.Options{})
	reconciler := &Reconciler{
		Client:            answering{mgr.GetClient()},
		APIReader:         mgr.GetAPIReader(),
		Recorder:          mgr.GetEventRecorder("saasaddon"),
		Clock:             clock.RealClock{},
		ProviderNamespace: providerNamespace,
		Inspector:         pool,
		Renderer:          triedOnly{pool},
	}
	reconciler.Charts = charts.NewAsyncFetcher(charts.NewFetcher(charts.Options{AllowPrivateSources: true}),
		charts.AsyncFetcherOptions[types.NamespacedName]{Done: reconciler.Fetched})
	return mgr, reconciler.SetupWithManager(mgr, policy.Options{WithdrawalGuardMax: rollout.Guard{MaxClusters: 10, MaxPercent: 50}})
}

func newClient(t *testing.T, config *rest.Config) client.Client {
	t.Helper()
	c, err := client.New(config, client.Options{Scheme: apis.NewScheme()})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
