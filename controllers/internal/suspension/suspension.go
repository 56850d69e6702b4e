// Package suspension reads whether a person asked for hands off an object, and until when.
package suspension

import (
	"cmp"
	"fmt"
	"time"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
)

// Suspension is a request for hands off. The zero value is none.
type Suspension struct {
	// Active: it holds now.
	Active bool
	// Until is when it ends by itself; zero if it does not.
	Until time.Time
	// Why it holds, where a person did not ask for it.
	Why string
	// ParseError tells that the annotation cannot be read, and is ignored.
	ParseError string
}

// OfCluster is the suspension of all that is done for a TenantCluster itself: its customer's, or the provider's.
func OfCluster(cluster *tenancyv1alpha1.TenantCluster, now time.Time) Suspension {
	return InCluster(cluster, cluster.Namespace, now)
}

// InCluster is the suspension of the policies of a namespace in a cluster. Its customer's, which is spec.suspend and the annotation
// daytwo.dev/suspend-until, holds off the policies of the same namespace, and none of the provider's elsewhere. The provider's
// holds off all.
func InCluster(cluster *tenancyv1alpha1.TenantCluster, namespace string, now time.Time) Suspension {
	providers := read(false, cluster.Annotations, metav1alpha1.AnnotationProviderSuspendUntil, now)
	if namespace != cluster.Namespace {
		return providers
	}
	return Of(cluster.Spec.Suspend, cluster.Annotations, now).Or(providers)
}

// Of reads spec.suspend and the annotation daytwo.dev/suspend-until of one object.
func Of(suspend bool, annotations map[string]string, now time.Time) Suspension {
	return read(suspend, annotations, metav1alpha1.AnnotationSuspendUntil, now)
}

func read(suspend bool, annotations map[string]string, annotation string, now time.Time) Suspension {
	found := Suspension{Active: suspend}
	value, set := annotations[annotation]
	if !set {
		return found
	}
	until, err := time.Parse(time.RFC3339, value)
	if err != nil {
		found.ParseError = fmt.Sprintf("the annotation %s is ignored: %q is no time as in 2006-01-02T15:04:05Z",
			annotation, value)
		return found
	}
	if until.After(now) && !suspend {
		found.Until = until
	}
	found.Active = suspend || until.After(now)
	return found
}

// Reason is the reason of a condition that tells of it.
func (s Suspension) Reason() string {
	if s.Why != "" {
		return metav1alpha1.ReasonUpgrading
	}
	return metav1alpha1.ReasonSuspended
}

// During is a suspension for as long as something is under way, which why tells.
func During(why string) Suspension { return Suspension{Active: true, Why: why} }

// Or joins two: it holds while either does.
func (s Suspension) Or(other Suspension) Suspension {
	joined := Suspension{Active: s.Active || other.Active, Why: cmp.Or(s.Why, other.Why), ParseError: s.ParseError}
	if joined.ParseError == "" {
		joined.ParseError = other.ParseError
	}
	switch {
	case !other.Active:
		joined.Until = s.Until
	case !s.Active:
		joined.Until = other.Until
	case !s.Until.IsZero() && !other.Until.IsZero():
		joined.Until = s.Until
		if other.Until.After(s.Until) {
			joined.Until = other.Until
		}
	}
	return joined
}

// String is "suspended", "suspended until ..." or "paused: ...".
func (s Suspension) String() string {
	if s.Why != "" {
		return "paused: " + s.Why
	}
	if s.Until.IsZero() {
		return "suspended"
	}
	return "suspended until " + s.Until.UTC().Format(time.RFC3339)
}
