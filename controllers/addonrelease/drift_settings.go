package addonrelease

import (
	"slices"
	"strings"

	"github.com/daytwo-dev/daytwo/controllers/internal/managedfields"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

// driftMode is what is done about drift.
type driftMode string

const (
	driftCorrect driftMode = "Correct"
	driftReport  driftMode = "Report"
	driftOff     driftMode = "Off"
)

// driftSettings say what counts as drift in a set of objects, and what is done about it.
type driftSettings struct {
	mode      driftMode
	additions managedfields.Additions
	ignored   []ignoredFields
}

// ignoredFields are JSON pointers to what others may set in some objects. What is empty selects every object.
type ignoredFields struct {
	group, kind, namespace, name string
	pointers                     []string
}

// tolerance is what others may set of one object.
func (s driftSettings) tolerance(version string, ref objects.Ref, environment bool) managedfields.Tolerance {
	return managedfields.Tolerance{Version: version, Additions: s.additions, Ignored: s.ignoredOf(ref), Environment: environment}
}

// ignoredOf lists the fields of an object that others may set.
func (s driftSettings) ignoredOf(ref objects.Ref) []string {
	var pointers []string
	for _, ignored := range s.ignored {
		if ignored.selects(ref) {
			pointers = append(pointers, ignored.pointers...)
		}
	}
	slices.Sort(pointers)
	return slices.Compact(pointers)
}

func (i ignoredFields) selects(ref objects.Ref) bool {
	fits := func(want, is string) bool { return want == "" || strings.EqualFold(want, is) }
	return fits(i.group, ref.Group) && fits(i.kind, ref.Kind) && fits(i.namespace, ref.Namespace) && fits(i.name, ref.Name)
}
