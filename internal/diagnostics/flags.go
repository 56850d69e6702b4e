package diagnostics

import (
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create

// Flags say where metrics and profiles are served.
type Flags struct {
	metrics  string
	profiles string
	certDir  string
}

// Bind adds the flags to a set.
func (f *Flags) Bind(set *flag.FlagSet) {
	set.StringVar(&f.metrics, "metrics-bind-address", ":8080", "address to serve metrics on, over TLS and to whoever may get /metrics, or without both at a loopback address; 0 for none")
	set.StringVar(&f.profiles, "pprof-bind-address", "0", "address to serve profiles on, below /debug/pprof/, over TLS and to whoever may get that path, or without both at a loopback address; 0 for none")
	set.StringVar(&f.certDir, "metrics-cert-dir", "", "directory with tls.crt and tls.key of the metrics and profiles, read again when they change (default: a self-signed certificate)")
}

// Metrics returns the options of the manager's metrics server. The server finds out with the configuration who asks. That must have
// no fence of the leader election, because replicas that do not lead serve metrics too.
func (f *Flags) Metrics(config *rest.Config) (metricsserver.Options, error) {
	return f.server("--metrics-bind-address", f.metrics, config)
}

// AddProfiles adds a server of profiles to the manager, if there is to be one.
func (f *Flags) AddProfiles(mgr manager.Manager, config *rest.Config) error {
	options, err := f.server("--pprof-bind-address", f.profiles, config)
	if err != nil || options.BindAddress == off {
		return err
	}
	options.ExtraHandlers = map[string]http.Handler{
		"/debug/pprof/":        http.HandlerFunc(pprof.Index),
		"/debug/pprof/cmdline": http.HandlerFunc(pprof.Cmdline),
		"/debug/pprof/profile": http.HandlerFunc(pprof.Profile),
		"/debug/pprof/symbol":  http.HandlerFunc(pprof.Symbol),
		"/debug/pprof/trace":   http.HandlerFunc(pprof.Trace),
	}
	server, err := metricsserver.NewServer(options, mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return fmt.Errorf("serve profiles: %w", err)
	}
	return mgr.Add(server)
}

// off is the address of a server that there is not.
const off = "0"

func (f *Flags) server(name, address string, config *rest.Config) (metricsserver.Options, error) {
	if address == off || address == "" {
		return metricsserver.Options{BindAddress: off}, nil
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return metricsserver.Options{}, fmt.Errorf("%s=%s: %w: write it as :8080, or 0 for none", name, address, err)
	}
	if isLoopback(host) {
		return metricsserver.Options{BindAddress: address}, nil
	}
	return metricsserver.Options{
		BindAddress: address, SecureServing: true, CertDir: f.certDir,
		FilterProvider: func(*rest.Config, *http.Client) (metricsserver.Filter, error) {
			client, err := rest.HTTPClientFor(config)
			if err != nil {
				return nil, fmt.Errorf("client that asks who may see metrics: %w", err)
			}
			return filters.WithAuthenticationAndAuthorization(config, client)
		},
	}, nil
}

// isLoopback is true for an address only: where a name leads is not known before it is listened on.
func isLoopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return err == nil && address.Unmap().IsLoopback()
}
