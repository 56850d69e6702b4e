// cert-manager's controllers, for issuers that sign by themselves or with a CA: those that ask somebody on the internet are
// left out. They are run as cert-manager's own main package does, which is a module of its own that nothing outside of its
// repository can build.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/cert-manager/cert-manager/pkg/controller"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/approver"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/ca"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/selfsigned"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/issuing"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/keymanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/readiness"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/requestmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/revisionmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/trigger"
	_ "github.com/cert-manager/cert-manager/pkg/controller/clusterissuers"
	_ "github.com/cert-manager/cert-manager/pkg/controller/issuers"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/ca"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/selfsigned"
	"golang.org/x/sync/errgroup"
)

const (
	// workers of each controller; what cert-manager's own main package has.
	workers = 5
	// shutdown is how long the health endpoint may take to end.
	shutdown = 5 * time.Second
)

func main() {
	options := defaults()
	flag.StringVar(&options.Kubeconfig, "kubeconfig", "", "the cluster to work in")
	flag.StringVar(&options.ClusterResourceNamespace, "cluster-resource-namespace", "cert-manager", "where the Secrets of ClusterIssuers are")
	health := flag.String("health-addr", "", "answer /readyz here")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, options, *health); err != nil {
		fmt.Fprintln(os.Stderr, "cert-manager:", err)
		os.Exit(1)
	}
}

// defaults are those of cert-manager that matter to these controllers. Only the backoff is shorter: cert-manager waits an hour
// after a first failure, which is too long for a fleet to try things out in.
func defaults() controller.ContextOptions {
	return controller.ContextOptions{
		// They hold only if the API server has no Priority and Fairness, or does not tell within five seconds.
		KubernetesAPIQPS:   20,
		KubernetesAPIBurst: 50,
		CertificateOptions: controller.CertificateOptions{
			CopiedAnnotationPrefixes:                 []string{"*", "-kubectl.kubernetes.io/", "-fluxcd.io/", "-argocd.argoproj.io/"},
			CertificateRequestMinimumBackoffDuration: time.Minute,
			CertificateRequestMaximumBackoffDuration: time.Hour,
		},
	}
}

// run runs all controllers until the context ends, which is no error, or until one of them fails.
func run(ctx context.Context, options controller.ContextOptions, health string) error {
	factory, err := controller.NewContextFactory(ctx, options)
	if err != nil {
		return err
	}
	shared, err := factory.Build()
	if err != nil {
		return err
	}
	group, running := errgroup.WithContext(ctx)
	for name, build := range controller.Known() {
		built, err := build(factory)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		group.Go(func() error { return built.Run(workers, running) })
	}
	shared.SharedInformerFactory.Start(running.Done())
	shared.KubeSharedInformerFactory.Start(running.Done())
	group.Go(func() error {
		shared.SharedInformerFactory.WaitForCacheSync(running.Done())
		shared.KubeSharedInformerFactory.WaitForCacheSync(running.Done())
		return serve(running, health)
	})
	if err := group.Wait(); ctx.Err() == nil {
		return err
	}
	return nil // A controller that is asked to end while its caches fill says that they were not.
}

// serve answers every request with 200 OK until the context ends. It is called once the caches are filled.
func serve(ctx context.Context, address string) error {
	if address == "" {
		<-ctx.Done()
		return nil
	}
	server := &http.Server{
		Addr:              address,
		ReadHeaderTimeout: shutdown,
		Handler:           http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }),
	}
	stop := context.AfterFunc(ctx, func() {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdown)
		defer cancel()
		_ = server.Shutdown(last) // Requests that go on end with the process.
	})
	defer stop()
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
