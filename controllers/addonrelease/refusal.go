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

// retryTerminating is how soon an object is sent again that is refused because its namespace is being deleted, where
// no watch tells when that is gone: the namespace is not ours.
const retryTerminating = 30 * time.Second

// refusal of an object. It is not sent again until something that it may depend on has changed, or some time has
// passed: what else happens to the release makes for reconciles too.
type refusal struct {
	hash    string
	request string
	// surroundings are those in which it was refused.
	surroundings string
	err          error
	owner        string
	at           time.Time
}

// stands is whether another try of a write is to be left alone.
func (r refusal) stands(w write, o observed, surroundings string) bool {
	return r.hash == w.hash && r.request == o.request && r.surroundings == surroundings && o.now.Before(r.at.Add(o.retryRefused(w, r.err)))
}

// retryRefused is how long a write that was refused is left alone, if nothing changes that is seen.
func (o observed) retryRefused(w write, err error) time.Duration {
	namespace := o.inventory[objects.Key{GroupKind: objects.NamespaceKind, Name: w.Namespace}]
	if isTerminating(err) && (namespace.intended() || namespace.unwatched()) {
		return retryTerminating
	}
	return retryStalled
}

// isTerminating: the object is refused because its namespace is being deleted.
func isTerminating(err error) bool {
	return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// surroundings stand for what the API server's answer to a write may depend on, as far as the release knows of it:
// which of its objects are there, in which revision, and how its namespaces and definitions are.
func (o observed) surroundings() string {
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
