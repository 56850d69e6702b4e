package addonrelease

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
	// firstRetryForbidden is how soon an object is sent again that is forbidden; each further try waits twice as long, up
	// to retryStalled. A right, a quota or a webhook is often put right from outside, and no watch tells of it.
	firstRetryForbidden = 10 * time.Second
	// retryTerminating is the longest wait for an object that is refused because its namespace is being deleted. Of a
	// namespace that is not ours, no watch tells when it is gone.
	retryTerminating = 30 * time.Second
)

// refusal of an object. It is not sent again until something that it may depend on has changed, or some time has
// passed: what else happens to the release makes for reconciles too.
type refusal struct {
	hash    string
	request string
	// surroundings are those in which it was refused.
	surroundings string
	err          error
	owner        string
	// tries is how often in a row the object was refused as it is; until is when the next one is due.
	tries int
	until time.Time
}

// stands is whether another try of a write is to be left alone.
func (r refusal) stands(w write, o objectsObservation, surroundings string) bool {
	return r.hash == w.hash && r.request == o.request && r.surroundings == surroundings && o.now.Before(r.until)
}

// refusals are the writes that the API server would not take, and that no retry at once can help.
func (o objectsObservation) refusals(p objectsPlan, writes []written) map[objects.Key]refusal {
	refused := map[objects.Key]refusal{}
	for _, w := range writes {
		if w.result != nil || w.owner == "" && !isFinal(w.err) {
			continue
		}
		tries := 1
		if before := o.refused[w.Key()]; before.hash == w.hash {
			tries += before.tries
		}
		refused[w.Key()] = refusal{
			hash: w.hash, request: o.request, surroundings: p.surroundings, err: w.err, owner: w.owner,
			tries: tries, until: o.now.Add(waitRefused(w.err, tries)),
		}
	}
	return refused
}

// waitRefused is how long a write is left alone that was refused so many times, if nothing changes that is seen.
func waitRefused(err error, tries int) time.Duration {
	first, longest := retryStalled, retryStalled
	if apierrors.IsForbidden(err) {
		first = firstRetryForbidden
	}
	if isTerminating(err) {
		longest = retryTerminating
	}
	return min(first<<min(tries-1, 10), longest)
}

// isTerminating: the object is refused because its namespace is being deleted.
func isTerminating(err error) bool {
	return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// surroundings stand for what the API server's answer to a write may depend on, as far as the release knows of it:
// which of its objects are there, in which revision, and how its namespaces and definitions are.
func (o objectsObservation) surroundings() string {
	digest := sha256.New()
	for _, e := range o.inventory.sorted() {
		if e.intended() {
			continue
		}
		_, _ = fmt.Fprintln(digest, e.ID(), e.uid, e.hash)
		if seen := o.sightings[e.Key()].seen; seen != nil && objects.IsFoundation(e.GroupKind()) {
			_, _ = fmt.Fprintln(digest, seen.Gone, seen.UID, seen.Fingerprint, seen.Health.Status)
		}
	}
	return hex.EncodeToString(digest.Sum(nil)[:8])
}

// missesNamespace: the object is refused because its namespace is not there.
func missesNamespace(w written) bool {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(w.err) || !errors.As(w.err, &status) {
		return false
	}
	details := status.Status().Details
	return details != nil && details.Kind == "namespaces" && details.Name == w.Namespace
}
