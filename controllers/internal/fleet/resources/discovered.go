package resources

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

// Discovered is what a cluster serves.
type Discovered struct {
	// Lists are the kinds, in the preferred version of their group.
	Lists []*metav1.APIResourceList
	// failed did not say what they serve, in order.
	failed []schema.GroupVersion
}

// Discover asks for all kinds that the cluster serves now, whatever is known of it.
func Discover(client discovery.DiscoveryInterface) (Discovered, error) {
	lists, err := discovery.ServerPreferredResources(client)
	var partial *discovery.ErrGroupDiscoveryFailed
	if err != nil && !errors.As(err, &partial) {
		return Discovered{}, fmt.Errorf("discover what the cluster serves: %w", err)
	}
	if len(lists) == 0 {
		return Discovered{}, errors.New("discover what the cluster serves: the answer is empty")
	}
	found := Discovered{Lists: lists}
	if partial != nil {
		found.failed = slices.SortedFunc(maps.Keys(partial.Groups), func(a, b schema.GroupVersion) int {
			return strings.Compare(a.String(), b.String())
		})
	}
	return found, nil
}

// Version in which a kind is served; false if it is not, as far as its group says. If that does not say what it serves, and does
// not serve the kind otherwise, the error is an *UndiscoveredError.
func (d Discovered) Version(kind schema.GroupKind) (string, bool, error) {
	for _, list := range d.Lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil || version.Group != kind.Group {
			continue
		}
		for _, resource := range list.APIResources {
			if resource.Kind == kind.Kind {
				return version.Version, true, nil
			}
		}
	}
	return "", false, d.FailedIn(kind.Group)
}

// FailedIn returns an *UndiscoveredError if a version of the group did not say what it serves; otherwise nil.
func (d Discovered) FailedIn(group string) error {
	return undiscovered(slices.DeleteFunc(slices.Clone(d.failed), func(one schema.GroupVersion) bool { return one.Group != group }))
}

// Failed returns an *UndiscoveredError if any group did not say what it serves; otherwise nil.
func (d Discovered) Failed() error { return undiscovered(d.failed) }

func undiscovered(failed []schema.GroupVersion) error {
	if len(failed) == 0 {
		return nil
	}
	return &UndiscoveredError{GroupVersion: failed[0], Others: len(failed) - 1}
}

// UndiscoveredError tells that an API group does not say what it serves, mostly because the server behind an APIService
// does not answer. Nobody can tell then which objects of the group there are.
type UndiscoveredError struct {
	// GroupVersion is the first that failed.
	GroupVersion schema.GroupVersion
	// Others is how many failed beside it.
	Others int
}

// Error names the group and the way out.
func (e *UndiscoveredError) Error() string {
	more := ""
	if e.Others > 0 {
		more = fmt.Sprintf(" (and %d more)", e.Others)
	}
	return fmt.Sprintf("API group %s%s does not answer, so its objects cannot be listed; repair or delete APIService %s.%s",
		e.GroupVersion, more, e.GroupVersion.Version, e.GroupVersion.Group)
}
