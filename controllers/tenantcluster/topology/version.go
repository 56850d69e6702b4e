package topology

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/version"
)

// Skew is why one version cannot follow another; empty if it can.
func Skew(from, to string) string {
	before, err := version.ParseSemantic(from)
	if err != nil {
		return "version " + from + " of the Cluster cannot be read: " + err.Error()
	}
	after, err := version.ParseSemantic(to)
	if err != nil {
		return "spec.topology.version " + to + " cannot be read: " + err.Error() + ": write it as in v1.36.3"
	}
	switch {
	case after.LessThan(before):
		return "spec.topology.version " + to + " is older than " + from + ", which was ordered already; Kubernetes cannot be downgraded: set " + from + " or a newer one"
	case after.Major() != before.Major() || after.Minor() > before.Minor()+1:
		return "spec.topology.version " + to + " is more than one minor version from " + from + ": go one minor version at a time"
	}
	return ""
}

// compareVersions orders versions; what is none comes first.
func compareVersions(a, b string) int {
	one, errOne := version.ParseSemantic(a)
	other, errOther := version.ParseSemantic(b)
	switch {
	case errOne != nil || errOther != nil:
		return strings.Compare(a, b)
	case one.LessThan(other):
		return -1
	case other.LessThan(one):
		return 1
	}
	return 0
}
