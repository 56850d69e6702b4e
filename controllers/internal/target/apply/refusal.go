package apply

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

const (
	// RetryStalled is how long what needs a person is left alone before it is looked at again anyway.
	RetryStalled = 5 * time.Minute
	// firstRetryForbidden is how soon an object is sent again that is forbidden; each further try waits twice as long, up
	// to retryStalled. A right, a quota or a webhook is often put right from outside, and no watch tells of it.
	firstRetryForbidden = 10 * time.Second
	// retryTerminating is the longest wait for an object that is refused because its namespace is being deleted. Of a
	// namespace that is not ours, no watch tells when it is gone.
	retryTerminating = 30 * time.Second
)

// Refusal of an object. It is not sent again until something that it may depend on has changed, or some time has
// passed: what else happens to the release makes for reconciles too.
type Refusal struct {
	Hash    string
	request string
	// Surroundings are those in which it was refused.
	Surroundings string
	Err          error
	claim        objects.Claim
	// adoption is what would have been adopted.
	adoption Adoption
	// tries is how often in a row the object was refused as it is; until is when the next one is due.
	tries int
	Until time.Time
}

// stands is whether another try of a write is to be left alone.
func (r Refusal) stands(w Write, o Observation, surroundings string) bool {
	return r.Hash == w.Hash && r.adoption == w.Adoption && r.request == o.Request && r.Surroundings == surroundings && o.Now.Before(r.Until)
}

// refusals are the writes that the API server would not take, and that no retry at once can help.
func (o Observation) refusals(p Plan, writes []Written) map[objects.Key]Refusal {
	refused := map[objects.Key]Refusal{}
	for _, w := range writes {
		if w.Result != nil || w.Owner == "" && !IsFinal(w.Err) {
			continue
		}
		tries := 1
		if before := o.Refused[w.Key()]; before.Hash == w.Hash {
			tries += before.tries
		}
		refused[w.Key()] = Refusal{
			Hash: w.Hash, request: o.Request, Surroundings: p.surroundings, Err: w.Err, claim: w.Claim, adoption: w.Adoption,
			tries: tries, Until: o.Now.Add(waitRefused(w.Err, tries)),
		}
	}
	return refused
}

// waitRefused is how long a write is left alone that was refused so many times, if nothing changes that is seen.
func waitRefused(err error, tries int) time.Duration {
	first, longest := RetryStalled, RetryStalled
	if apierrors.IsForbidden(err) {
		first = firstRetryForbidden
	}
	if IsTerminating(err) {
		longest = retryTerminating
	}
	return min(first<<min(tries-1, 10), longest)
}

// IsTerminating tells that an object is refused because its namespace is being deleted.
func IsTerminating(err error) bool {
	return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// Surroundings stand for what the API server's answer to a write may depend on, as far as the release knows of it:
// which of its objects are there, in which revision, and how its namespaces and definitions are.
func (o Observation) Surroundings() string {
	digest := sha256.New()
	for _, e := range o.Inventory.Sorted() {
		if e.Intended() {
			continue
		}
		_, _ = fmt.Fprintln(digest, e.ID(), e.UID, e.Hash)
		if seen := o.States[e.Key()].Seen; seen != nil && objects.IsPrerequisite(e.GroupKind()) {
			_, _ = fmt.Fprintln(digest, seen.Gone, seen.UID, seen.Fingerprint, seen.Health.Status)
		}
	}
	return hex.EncodeToString(digest.Sum(nil)[:8])
}

// missesNamespace: the object is refused because its namespace is not there.
func missesNamespace(w Written) bool {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(w.Err) || !errors.As(w.Err, &status) {
		return false
	}
	details := status.Status().Details
	return details != nil && details.Kind == "namespaces" && details.Name == w.Namespace
}
