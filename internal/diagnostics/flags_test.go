package diagnostics

import (
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/daytwo-dev/daytwo/tools/local/expect"
	"github.com/daytwo-dev/daytwo/tools/local/fixture"
	"github.com/daytwo-dev/daytwo/tools/local/localfleet"
)

var management *rest.Config

func TestMain(m *testing.M) {
	os.Exit(fixture.Main(m, 0, func(ctx context.Context, dir string) (end func() error, err error) {
		servers, err := fixture.StartFleet(ctx, dir, localfleet.Options{ClusterOptions: localfleet.ClusterOptions{Bare: true}},
			"../../config/manager/namespace.yaml", "../../config/rbac")
		if err != nil {
			return nil, err
		}
		management = servers.Management().Config()
		return servers.Close, nil
	}))
}

// serve runs a manager that serves at two addresses, with the rights of the real one.
func serve(t *testing.T, metrics, profiles string) {
	t.Helper()
	flags, set := Flags{}, flag.NewFlagSet("daytwo", flag.ContinueOnError)
	flags.Bind(set)
	if err := set.Parse([]string{"--metrics-bind-address=" + metrics, "--pprof-bind-address=" + profiles}); err != nil {
		t.Fatal(err)
	}
	config := rest.CopyConfig(management)
	config.Impersonate.UserName = "system:serviceaccount:daytwo-system:daytwo-controller-manager"
	options, err := flags.Metrics(config)
	if err != nil {
		t.Fatal(err)
	}
	mgr, err := ctrl.NewManager(config, ctrl.Options{Metrics: options})
	if err != nil {
		t.Fatal(err)
	}
	if err := flags.AddProfiles(mgr, config); err != nil {
		t.Fatal(err)
	}
	stop := fixture.Background(mgr.Start)
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// freePort is one that nobody listens on.
func freePort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	return port
}

// tokenOf is that of a service account with a ClusterRole; none if that is empty.
func tokenOf(t *testing.T, account, role string) string {
	t.Helper()
	client, ctx := kubernetes.NewForConfigOrDie(management), t.Context()
	made, err := client.CoreV1().ServiceAccounts("default").Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: account}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if role != "" {
		binding := &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: account}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "default", Name: account}},
		}
		if _, err := client.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	token, err := client.CoreV1().ServiceAccounts("default").CreateToken(ctx, made.Name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return token.Status.Token
}

// insecure does not look at the certificate, which is self-signed.
var insecure = &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{
	TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // The certificate is self-signed.
}}

func get(ctx context.Context, url, token string) (int, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := insecure.Do(request)
	if err != nil {
		return 0, err
	}
	return response.StatusCode, response.Body.Close()
}

func TestMetricsAndProfilesAreForThoseWhoMaySeeThem(t *testing.T) {
	metrics, profiles := freePort(t), freePort(t)
	serve(t, "0.0.0.0:"+metrics, "0.0.0.0:"+profiles)
	nobody, reader, profiler := tokenOf(t, "nobody", ""), tokenOf(t, "reader", "daytwo-metrics-reader"), tokenOf(t, "profiler", "daytwo-profiles-reader")
	for name, c := range map[string]struct {
		url, token string
		code       int
	}{
		"metrics without a token":     {"https://127.0.0.1:" + metrics + "/metrics", "", 401},
		"metrics with a forged token": {"https://127.0.0.1:" + metrics + "/metrics", "forged", 500}, // As the filter answers what the API server calls an error.
		"metrics without the right":   {"https://127.0.0.1:" + metrics + "/metrics", nobody, 403},
		"metrics with the right":      {"https://127.0.0.1:" + metrics + "/metrics", reader, 200},
		"metrics over plain HTTP":     {"http://127.0.0.1:" + metrics + "/metrics", reader, 400},
		"profiles without a token":    {"https://127.0.0.1:" + profiles + "/debug/pprof/heap", "", 401},
		"profiles without the right":  {"https://127.0.0.1:" + profiles + "/debug/pprof/heap", reader, 403},
		"profiles with the right":     {"https://127.0.0.1:" + profiles + "/debug/pprof/heap", profiler, 200},
		"the command line":            {"https://127.0.0.1:" + profiles + "/debug/pprof/cmdline", reader, 403},
		"metrics beside profiles":     {"https://127.0.0.1:" + profiles + "/metrics", nobody, 403},
		"no profiles beside metrics":  {"https://127.0.0.1:" + metrics + "/debug/pprof/heap", profiler, 404},
		"the list of profiles":        {"https://127.0.0.1:" + profiles + "/debug/pprof/", "", 401},
	} {
		t.Run(name, func(t *testing.T) {
			expect.Eventually(t, fmt.Sprintf("%s answers %d", c.url, c.code), func(ctx context.Context) error {
				code, err := get(ctx, c.url, c.token)
				if err == nil && code != c.code {
					err = fmt.Errorf("it answers %d", code)
				}
				return err
			})
		})
	}
}

func TestNobodyIsAskedAtALoopbackAddress(t *testing.T) {
	metrics, profiles := freePort(t), freePort(t)
	serve(t, "127.0.0.1:"+metrics, "127.0.0.1:"+profiles)
	for _, url := range []string{"http://127.0.0.1:" + metrics + "/metrics", "http://127.0.0.1:" + profiles + "/debug/pprof/cmdline"} {
		expect.Eventually(t, url+" answers", func(ctx context.Context) error {
			code, err := get(ctx, url, "")
			if err == nil && code != http.StatusOK {
				err = errors.New(http.StatusText(code))
			}
			return err
		})
	}
}

func TestOnlyLoopbackAddressesAreServedToAnybody(t *testing.T) {
	for address, open := range map[string]bool{
		"127.0.0.1:8080": true, "[::1]:8080": true, "127.9.9.9:8080": true, "[::ffff:127.0.0.1]:8080": true,
		":8080": false, "0.0.0.0:8080": false, "[::]:8080": false, "10.0.0.1:8080": false, "localhost:8080": false,
	} {
		options, err := (&Flags{metrics: address}).Metrics(&rest.Config{})
		if err != nil || (options.FilterProvider == nil) != open || options.SecureServing == open {
			t.Errorf("%s: filtered %t, over TLS %t, want open %t: %v", address, options.FilterProvider != nil, options.SecureServing, open, err)
		}
	}
	if options, err := (&Flags{metrics: "0"}).Metrics(&rest.Config{}); err != nil || options.BindAddress != "0" {
		t.Errorf("0 is served at %s: %v", options.BindAddress, err)
	}
	if _, err := (&Flags{metrics: "8080"}).Metrics(&rest.Config{}); err == nil || !strings.Contains(err.Error(), "--metrics-bind-address=8080") {
		t.Errorf("a port alone: %v", err)
	}
}
