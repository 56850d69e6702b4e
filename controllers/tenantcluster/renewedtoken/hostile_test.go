package renewedtoken

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/fleettest"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/transport"
	"github.com/daytwo-dev/daytwo/controllers/internal/kubeconfig"
	"github.com/daytwo-dev/daytwo/controllers/internal/managedfields"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
)

const (
	ownToken   = "the-kubeconfigs-own"
	givenToken = "given-for-the-service-account"
)

// impostor is an API server that answers as a test says.
type impostor struct {
	// token answers a request for a token.
	token http.HandlerFunc
	// identities that are told, by token.
	identities map[string]string
	// review answers questions on rights.
	review http.HandlerFunc
}

func (i impostor) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	switch {
	case request.URL.Path == transport.IdentityPath:
		identity := i.identities[strings.TrimPrefix(request.Header.Get("Authorization"), "Bearer ")]
		_, _ = fmt.Fprintf(w, `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"kube-system","uid":%q}}`, identity)
	case request.URL.Path == "/version":
		_, _ = w.Write([]byte(`{"gitVersion":"v1.36.3"}`))
	case strings.HasSuffix(request.URL.Path, "/token"):
		i.token(w, request)
	default:
		i.review(w, request)
	}
}

func gives(token string, life time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `{"kind":"TokenRequest","apiVersion":"authentication.k8s.io/v1","status":{"token":%q,"expirationTimestamp":%q}}`,
			token, time.Now().Add(life).UTC().Format(time.RFC3339))
	}
}

func allows(w http.ResponseWriter, _ *http.Request) {
	_, _ = w.Write([]byte(`{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","status":{"allowed":true}}`))
}

// quotes answers with an error that has the credentials in it that were sent.
func quotes(code int, reason string) http.HandlerFunc {
	return func(w http.ResponseWriter, request *http.Request) {
		w.WriteHeader(code)
		_, _ = fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d,"message":"%s %s"}`,
			reason, code, request.Header.Get("Authorization"), givenToken)
	}
}

func TestAClusterThatMeansHarmGetsNoTokenUsedAndNoneTold(t *testing.T) {
	same := map[string]string{ownToken: "blue", givenToken: "blue"}
	for name, c := range map[string]struct {
		impostor
		// reason of the failure; empty if the token is used.
		reason, says string
	}{
		"a good one": {impostor{gives(givenToken, time.Hour), same, allows}, "", ""},
		"the token opens another cluster": {impostor{gives(givenToken, time.Hour), map[string]string{ownToken: "blue", givenToken: "green"}, allows},
			tenancyv1alpha1.ReasonTokenOfOtherCluster, "another cluster than before"},
		"the token expires at once":      {impostor{gives(givenToken, 9*time.Minute), same, allows}, tenancyv1alpha1.ReasonTokenExpiresTooSoon, "--service-account-max-token-expiration"},
		"the token has expired":          {impostor{gives(givenToken, -time.Hour), same, allows}, tenancyv1alpha1.ReasonTokenExpiresTooSoon, "clocks"},
		"the token is no header":         {impostor{gives("a\nHost: b", time.Hour), same, allows}, tenancyv1alpha1.ReasonRenewalFailed, "is no token"},
		"the token is large":             {impostor{gives(strings.Repeat("a", 1<<20), time.Hour), same, allows}, tenancyv1alpha1.ReasonRenewalFailed, "is no token"},
		"the answer is larger than any":  {impostor{gives(strings.Repeat("a", 4<<20), time.Hour), same, allows}, tenancyv1alpha1.ReasonRenewalFailed, "is not read any further"},
		"the answer is none":             {impostor{func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{}`)) }, same, allows}, tenancyv1alpha1.ReasonRenewalFailed, "is no token"},
		"an error quotes the token":      {impostor{quotes(http.StatusInternalServerError, "InternalError"), same, allows}, tenancyv1alpha1.ReasonRenewalFailed, "500 InternalError"},
		"a reason quotes the token":      {impostor{quotes(http.StatusTeapot, givenToken), same, allows}, tenancyv1alpha1.ReasonRenewalFailed, "answers 418."},
		"a refusal quotes the token":     {impostor{quotes(http.StatusForbidden, "Forbidden"), same, allows}, tenancyv1alpha1.ReasonTokenRequestForbidden, "create on serviceaccounts/token"},
		"an answer on rights is refused": {impostor{gives(givenToken, time.Hour), same, quotes(http.StatusForbidden, "Forbidden")}, tenancyv1alpha1.ReasonRenewalFailed, "403 Forbidden"},
	} {
		t.Run(name, func(t *testing.T) {
			token, err := requestOf(t, c.impostor)
			if c.reason == "" {
				if err != nil || token.Access.Token != givenToken || time.Until(token.ExpiresAt) < 50*time.Minute {
					t.Errorf("got a token until %s, %v", token.ExpiresAt, err)
				}
				return
			}
			if err == nil {
				t.Fatal("the token would be used")
			}
			failure := FailureOf(err)
			if failure.Reason != c.reason || !strings.Contains(failure.Message, c.says) {
				t.Errorf("it is %s: %s", failure.Reason, failure.Message)
			}
			if strings.Contains(failure.Message, givenToken) || strings.Contains(failure.Message, ownToken) || len(failure.Message) > 2<<10 {
				t.Errorf("it tells a token, or too much: %.300s", failure.Message)
			}
		})
	}
}

// requestOf has a cluster asked for a token, and the token tried.
func requestOf(t *testing.T, cluster impostor) (Token, error) {
	t.Helper()
	server := httptest.NewUnstartedServer(cluster)
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	connections := fleet.New(fleet.Options{
		Installation: "test", Rules: managedfields.DefaultRules("test"), Timeouts: fleet.Timeouts{
			Connect: 2 * time.Second, PingAfter: time.Second, Ping: time.Second, Probe: 5 * time.Second,
			Patience: 2 * time.Second, RetryMax: time.Minute, Request: 5 * time.Second,
		},
		Guard: fleettest.Anywhere, Metrics: fleet.NewMetrics(prometheus.NewRegistry()), Clock: clock.RealClock{}, Log: logr.Discard(),
	})
	t.Cleanup(connections.Close)
	own := kubeconfig.Access{Server: server.URL, Token: ownToken, CAData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})}
	key := types.NamespacedName{Namespace: "acme", Name: "prod"}
	connections.Connect(key, own)
	var live *fleet.Cluster
	expect.Eventually(t, "the cluster is handed out", func(context.Context) error {
		if state, _ := connections.State(key); state.Phase == fleet.Connected {
			if err := connections.Admit(key, state.Identity); err != nil {
				return err
			}
		}
		var ok bool
		if live, ok = connections.Get(key); !ok {
			return errors.New("it is not")
		}
		return nil
	})
	return Request(t.Context(), live, renewedBy, own, clock.RealClock{})
}

func TestAnErrorOfTheManagementClusterIsToldByItsReason(t *testing.T) {
	if got := FailureOf(fmt.Errorf("write Secret: %w", syscall.ECONNREFUSED)); got.Reason != tenancyv1alpha1.ReasonRenewalFailed || !strings.Contains(got.Message, "connection refused") {
		t.Errorf("got %+v", got)
	}
}
