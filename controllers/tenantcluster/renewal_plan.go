package tenantcluster

import (
	"hash/fnv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/kubeconfig"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/expiry"
)

const (
	// refusalLasts is how long credentials that the cluster refused are not tried again while there are others, and how long
	// no other token takes the place of one that was refused: a cluster that takes a token in a trial and refuses it
	// afterwards must not have tokens minted without end.
	refusalLasts = 5 * time.Minute
	// maxClockSkew is how far ahead of the manager's clock a token may have been minted, by the manager before.
	maxClockSkew = time.Minute
	// cacheLag is how long a token that was written may be missing in the cache.
	cacheLag = 30 * time.Second
)

// renewal is how the credentials stand that are renewed.
type renewal struct {
	// account is the ServiceAccount of which tokens are requested; nil if nobody asked for that.
	account *tenancyv1alpha1.ServiceAccountReference
	// secret in which Daytwo keeps a token; nil if there is none.
	secret *metav1.PartialObjectMetadata
	// token that was requested with the kubeconfig as it is; nil if there is none.
	token *renewedToken
	// refused: the cluster refused the token.
	refused bool
	// inUse: the token is used in the place of the kubeconfig's credentials.
	inUse bool
	// swap: the connection goes on with the token instead of what it was opened with.
	swap bool
	// failure is why the last try to get a token failed; nil if it did not.
	failure *renewalFailure
	// running: a token is being requested.
	running bool
	// retryAt is when the next try is due after one that failed; zero for at once.
	retryAt time.Time
}

// renewalFailure says why there is no new token. It holds nothing that a cluster told in words of its own.
type renewalFailure struct{ reason, message string }

func (f *renewalFailure) Error() string { return f.message }

// isGood says whether a token is one to use.
func (t *renewedToken) isGood(now time.Time) bool {
	return t != nil && now.Before(t.expiresAt) && !t.mintedAt.After(now.Add(maxClockSkew))
}

// renewAt is when another token is to take the place of this one: at half its life, and up to a tenth of it before, so that
// clusters that were registered together are not renewed together.
func (t *renewedToken) renewAt(cluster types.UID) time.Time {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(cluster)) // It never fails.
	life := t.expiresAt.Sub(t.mintedAt)
	early := time.Duration(float64(life) / 10 * float64(hash.Sum32()%1000) / 1000)
	return t.mintedAt.Add(life/2 - early).Truncate(time.Second)
}

// refusals are when the cluster refused which credentials, by their fingerprints.
type refusals map[string]time.Time

// prefersToken chooses between the token and the kubeconfig's own credentials. The token wins; one that was refused gives way to
// the others, unless those expired or were refused too. Then they take turns.
func prefersToken(token *renewedToken, own kubeconfig.Access, refused refusals, linked string, now time.Time) bool {
	if !token.isGood(now) {
		return false
	}
	tokenRefused, isRefused := refused[token.access.Fingerprint()]
	if expires, known := own.ExpiresAt(); !isRefused || known && !now.Before(expires) {
		return true
	}
	ownRefused, alsoRefused := refused[own.Fingerprint()]
	switch {
	case !alsoRefused:
		return false
	case linked == own.Fingerprint():
		return !now.Before(tokenRefused.Add(refusalLasts))
	}
	return now.Before(ownRefused.Add(refusalLasts))
}

// dueAt is when the next token is to be requested; zero for never.
func (r renewal) dueAt(o observation) time.Time {
	switch {
	case r.account == nil || o.credentials.problem != nil:
		return time.Time{}
	case !r.token.isGood(o.now):
		return later(o.now, r.retryAt)
	case r.refused:
		return later(r.token.mintedAt.Add(refusalLasts), r.retryAt)
	case r.token.account != r.account.String():
		return later(o.now, r.retryAt)
	}
	return later(r.token.renewAt(o.cluster.UID), r.retryAt)
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
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
		deadlines = append(deadlines, o.now.Add(refusalLasts))
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
		found.Sort, found.ExpiresAt = kubeconfig.Token, o.renewal.token.expiresAt
	case known:
		found.Sort, found.ExpiresAt = sort, at
	}
	return found
}
