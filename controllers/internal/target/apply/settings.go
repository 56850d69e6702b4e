package apply

import (
	"slices"
	"strings"

	"github.com/daytwo-dev/daytwo/controllers/internal/managedfields"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

// Mode is what is done about drift.
type Mode string

// Modes.
const (
	Correct Mode = "Correct"
	Report  Mode = "Report"
	Off     Mode = "Off"
)

// Settings say what counts as drift in a set of objects, and what is done about it.
type Settings struct {
	Mode      Mode
	Additions managedfields.Additions
	Ignored   []IgnoredFields
}

// IgnoredFields are JSON pointers to what others may set in some objects. What is empty selects every object.
type IgnoredFields struct {
	Group, Kind, Namespace, Name string
	Pointers                     []string
}

// Tolerance is what others may set of one object.
func (s Settings) Tolerance(version string, ref objects.Ref, environment bool) managedfields.Tolerance {
	return managedfields.Tolerance{Version: version, Additions: s.Additions, Ignored: s.IgnoredOf(ref), Environment: environment}
}

// IgnoredOf lists the fields of an object that others may set.
func (s Settings) IgnoredOf(ref objects.Ref) []string {
	var pointers []string
	for _, ignored := range s.Ignored {
		if ignored.selects(ref) {
			pointers = append(pointers, ignored.Pointers...)
		}
	}
	slices.Sort(pointers)
	return slices.Compact(pointers)
}

func (i IgnoredFields) selects(ref objects.Ref) bool {
	fits := func(want, is string) bool { return want == "" || strings.EqualFold(want, is) }
	return fits(i.Group, ref.Group) && fits(i.Kind, ref.Kind) && fits(i.Namespace, ref.Namespace) && fits(i.Name, ref.Name)
}
