package fleet

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	authorizationv1client "k8s.io/client-go/kubernetes/typed/authorization/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/bounded"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/transport"
	"github.com/daytwo-dev/daytwo/controllers/internal/kubeconfig"
)

// Trial is a connection of its own, over which credentials are tried before they are used.
type Trial struct {
	// Identity of the cluster that the credentials open.
	Identity types.UID

	transport *transport.Transport
	config    *rest.Config
	requests  *http.Client
}

// Try opens another connection, with the given access, and learns who is there. IsUnauthorized is true for the error if the cluster
// answers and refuses the credentials. Close it.
func (c *Cluster) Try(ctx context.Context, access kubeconfig.Access) (*Trial, error) {
	return c.connection.fleet.try(ctx, c.connection.key, access)
}

func (f *Fleet) try(ctx context.Context, cluster types.NamespacedName, access kubeconfig.Access) (*Trial, error) {
	config := access.RESTConfig()
	config.UserAgent = metav1alpha1.FieldManager
	opened, err := transport.New(config, f.options.transport(cluster), func() {})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*f.options.Timeouts.Connect)
	defer cancel()
	through := bounded.PacedRoundTripper{Inner: f.metrics.count(opened.RoundTripper()), Pace: bounded.NewPace(f.clock)}
	identity, err := transport.ReadIdentity(ctx, access.Server, through)
	if err != nil {
		opened.Close()
		return nil, err
	}
	opened.Pin(identity, "")
	return &Trial{
		Identity: identity, transport: opened, requests: &http.Client{Transport: through, Timeout: f.options.Timeouts.Request},
		config: &rest.Config{Host: access.Server, QPS: -1, UserAgent: metav1alpha1.FieldManager, WarningHandler: rest.NoWarnings{}},
	}, nil
}

// IsUnauthorized tells that a cluster answers and refuses the credentials.
func IsUnauthorized(err error) bool {
	var unauthorized *transport.UnauthorizedError
	return errors.As(err, &unauthorized)
}

// Close ends the connection.
func (t *Trial) Close() { t.transport.Close() }

// Authorization is a client that asks what the tried credentials may do.
func (t *Trial) Authorization() (authorizationv1client.AuthorizationV1Interface, error) {
	return authorizationv1client.NewForConfigAndClient(t.config, t.requests)
}

// Authorization is a client that asks what the credentials in use may do.
func (c *Cluster) Authorization() (authorizationv1client.AuthorizationV1Interface, error) {
	return authorizationv1client.NewForConfigAndClient(c.config, c.requests)
}

// RequestToken has the cluster give a token of a ServiceAccount, for the API server itself. It asks for a life, of which the
// cluster may give less or more; expires is the cluster's word.
func (c *Cluster) RequestToken(ctx context.Context, account types.NamespacedName, life time.Duration) (token string, expires time.Time, err error) {
	ctx, cancel := c.deadline(ctx)
	defer cancel()
	client, err := corev1client.NewForConfigAndClient(c.config, c.requests)
	if err != nil {
		return "", time.Time{}, fmt.Errorf("client for ServiceAccounts: %w", err)
	}
	answer, err := client.ServiceAccounts(account.Namespace).CreateToken(ctx, account.Name, &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To(int64(life / time.Second))},
	}, metav1.CreateOptions{})
	if err != nil {
		return "", time.Time{}, err
	}
	return answer.Status.Token, answer.Status.ExpirationTimestamp.Time, nil
}
