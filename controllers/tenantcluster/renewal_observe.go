package tenantcluster

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/background"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/renewedtoken"
)

// written is the version of a Secret that a task wrote, and when.
type written struct {
	version string
	at      time.Time
}

// newRenewals are the tasks that come by tokens. Whatever fails may be mended in the cluster.
func newRenewals(clock clock.PassiveClock) *background.Tasks[written] {
	pauses := wait.Backoff{Duration: 10 * time.Second, Factor: 2, Jitter: 0.2, Steps: 1 << 30, Cap: 30 * time.Minute}
	return background.New[written](func(error) bool { return false }).WithRetries(pauses, clock)
}

// observeRenewal finds out which credentials to use, and how their renewal stands. It puts them into the observation.
func (r *reconciler) observeRenewal(ctx context.Context, o *observation) error {
	renewal := &o.renewal
	renewal.account = accountOf(o.cluster)
	secret := secretMetadata()
	err := r.client.Get(ctx, client.ObjectKey{Namespace: o.key.Namespace, Name: renewedtoken.SecretOf(o.key.Name)}, secret)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read metadata of the Secret with the renewed token: %w", err)
	}
	if err == nil && secret.Labels[metav1alpha1.LabelCluster] == o.key.Name {
		renewal.secret = secret
	}
	if renewal.account == nil || o.credentials.problem != nil {
		r.renewals.Forget(o.key)
		return nil
	}
	if err := r.chooseCredentials(ctx, o); err != nil {
		return err
	}
	progress := r.renewals.Progress(r.renewalID(*o))
	renewal.running = progress.Running
	if progress.Err != nil {
		renewal.failure, renewal.retryAt = renewedtoken.FailureOf(progress.Err), progress.Again
	}
	if progress.Done {
		// It was written, and the cache does not show it yet, or somebody deleted it.
		renewal.retryAt = progress.Result.at.Add(cacheLag)
	}
	return nil
}

// renewalID tells tries to get a token apart: who changes anything that matters, or asks for a try, gets one at once.
func (r *reconciler) renewalID(o observation) background.ID {
	version := ""
	if o.renewal.secret != nil {
		version = o.renewal.secret.ResourceVersion
	}
	return background.IDOf(o.cluster, fmt.Sprintf("renew %s %s %q %q", o.credentials.own.Fingerprint(), o.renewal.account, version, requestIn(o.cluster)))
}

// chooseCredentials decides between the kubeconfig's own credentials and the token.
func (r *reconciler) chooseCredentials(ctx context.Context, o *observation) error {
	renewal, own := &o.renewal, o.credentials.own
	if renewal.secret != nil {
		secret, err := r.readTokenSecret(ctx, o)
		if err != nil {
			return err
		}
		renewal.token = secret
	}
	state, connected := r.connections.State(o.key)
	known := r.memory.Of(o.key)
	known.refused = known.refused.After(known.linked, renewedtoken.Answer{
		Refused: connected && state.Phase == fleet.Unauthorized, Accepted: connected && state.Phase == fleet.Connected,
	}, o.now)
	if renewal.token == nil {
		return nil
	}
	_, renewal.refused = known.refused[renewal.token.Access.Fingerprint()]
	if renewedtoken.Preferred(renewal.token, own, known.refused, known.linked, o.now) {
		renewal.inUse, o.credentials.access = true, renewal.token.Access
		renewal.swap = connected && state.Phase == fleet.Connected && known.linked != "" && known.linked != renewal.token.Access.Fingerprint()
	}
	return nil
}

// readTokenSecret reads the token once for each version of its Secret and of the kubeconfig.
func (r *reconciler) readTokenSecret(ctx context.Context, o *observation) (*renewedtoken.Token, error) {
	metadata, own := o.renewal.secret, o.credentials.own
	source := tokenSource{string(metadata.UID) + metadata.ResourceVersion, own.Fingerprint()}
	known := r.memory.Of(o.key)
	if known.tokenSource == source {
		return known.token, nil
	}
	secret := &corev1.Secret{}
	err := r.live.Get(ctx, client.ObjectKeyFromObject(metadata), secret)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read Secret %s: %w", metadata.Name, err)
	}
	known.token, known.tokenSource = renewedtoken.Read(secret, own), tokenSource{string(secret.UID) + secret.ResourceVersion, own.Fingerprint()}
	return known.token, nil
}
