package tenantcluster

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/kubeconfig"
	"github.com/daytwo-dev/daytwo/controllers/internal/times"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/expiry"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/renewedtoken"
)

// cacheLag is how long a token that was written may be missing in the cache.
const cacheLag = 30 * time.Second

// renewal is how the credentials stand that are renewed.
type renewal struct {
	// account is the ServiceAccount of which tokens are requested; nil if nobody asked for that.
	account *tenancyv1alpha1.ServiceAccountReference
	// secret in which Daytwo keeps a token; nil if there is none.
	secret *metav1.PartialObjectMetadata
	// token that was requested with the kubeconfig as it is; nil if there is none.
	token *renewedtoken.Token
	// refused: the cluster refused the token.
	refused bool
	// inUse: the token is used in the place of the kubeconfig's credentials.
	inUse bool
	// swap: the connection goes on with the token instead of what it was opened with.
	swap bool
	// failure is why the last try to get a token failed; nil if it did not.
	failure *renewedtoken.Failure
	// running: a token is being requested.
	running bool
	// retryAt is when the next try is due after one that failed; zero for at once.
	retryAt time.Time
}

// dueAt is when the next token is to be requested; zero for never.
func (r renewal) dueAt(o observation) time.Time {
	switch {
	case r.account == nil || o.credentials.problem != nil:
		return time.Time{}
	case !r.token.IsGood(o.now):
		return times.Latest(o.now, r.retryAt)
	case r.refused:
		return times.Latest(r.token.MintedAt.Add(renewedtoken.RefusalLasts), r.retryAt)
	case r.token.Account != r.account.String():
		return times.Latest(o.now, r.retryAt)
	}
	return times.Latest(r.token.RenewAt(o.cluster.UID), r.retryAt)
}

// renewsNow says whether a token is to be requested: only of the cluster that is on record.
func (r renewal) renewsNow(o observation, verdict verdict) bool {
	due := r.dueAt(o)
	return !due.IsZero() && !o.now.Before(due) && !r.running && !r.swap && admissionFor(o, verdict) == admit
}

// dropsToken says whether the Secret with the token is nothing that is needed any longer.
func (r renewal) dropsToken() bool { return r.account == nil && r.secret != nil }

// wakeAt is when the renewal has to be looked at again; zero for never.
func (r renewal) wakeAt(o observation) []time.Time {
	if r.account == nil {
		return nil
	}
	deadlines := []time.Time{r.dueAt(o), r.retryAt}
	if r.refused {
		deadlines = append(deadlines, o.now.Add(renewedtoken.RefusalLasts))
	}
	if r.swap {
		deadlines = append(deadlines, o.now.Add(time.Second))
	}
	return deadlines
}

// expiresAt is when the credentials in use end; false if they do not say.
func (o observation) expiresAt() (time.Time, bool) {
	found := o.expiring()
	return found.ExpiresAt, !found.ExpiresAt.IsZero()
}

// expiring is what is known of the end of the credentials in use.
func (o observation) expiring() expiry.Credentials {
	found := expiry.Credentials{Renewed: o.renewal.inUse, Warning: o.expiryWarning}
	if o.credentials.secret != nil {
		found.Secret = o.credentials.secretFor(o.key)
	}
	switch sort, at, known := o.credentials.access.FirstToExpire(); {
	case o.renewal.inUse:
		found.Sort, found.ExpiresAt = kubeconfig.Token, o.renewal.token.ExpiresAt
	case known:
		found.Sort, found.ExpiresAt = sort, at
	}
	return found
}

// accountOf returns the ServiceAccount whose tokens are to be renewed; nil for none.
func accountOf(cluster *tenancyv1alpha1.TenantCluster) *tenancyv1alpha1.ServiceAccountReference {
	if ref := cluster.Spec.KubeconfigRef; ref != nil && ref.Renew != nil {
		return &ref.Renew.ServiceAccount
	}
	return nil
}
