package charts

import (
	"cmp"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
)

// wanted is the version that a Source asks for: one of both is set.
type wanted struct {
	exact  *semver.Version
	within *semver.Constraints
}

func parseWanted(text string) (wanted, error) {
	if strings.TrimSpace(text) == "" {
		return wanted{}, invalidSource(`the chart's version is missing: set an exact one, like 1.2.3, or a range, like "1.x"; "*" takes the newest`)
	}
	// Two numbers are a range to Helm in one place and a version in another. Here they are a range.
	if exact, err := parseStrictly(text); err == nil {
		return wanted{exact: exact}, nil
	}
	within, err := semver.NewConstraint(text)
	if err != nil {
		return wanted{}, invalidSource(`the chart's version %s is neither a version, like 1.2.3, nor a range, like "1.x" or ">=1.2 <2"`, quote(text))
	}
	return wanted{within: within}, nil
}

// parseStrictly takes versions of three numbers, with or without a leading v, which Helm's own
// charts lack and some others have.
func parseStrictly(text string) (*semver.Version, error) {
	return semver.StrictNewVersion(strings.TrimPrefix(text, "v"))
}

// parseLeniently takes what Helm takes in an index: 1 or 1.2 as well.
func parseLeniently(text string) (*semver.Version, error) { return semver.NewVersion(text) }

func (w wanted) admits(version *semver.Version) bool {
	if w.exact != nil {
		return compare(w.exact, version) == 0
	}
	return w.within.Check(version)
}

// compare orders versions by precedence, and those that precedence holds for equal by their build
// metadata: then the choice doesn't depend on the order in which a server lists them.
func compare(a, b *semver.Version) int {
	return cmp.Or(a.Compare(b), strings.Compare(a.Metadata(), b.Metadata()))
}

// named is how many of the versions there are an error names.
const named = 5

// selection picks the newest wanted one of the versions that it is offered. However many those
// are, it keeps only that one and the newest few.
type selection[T any] struct {
	wanted wanted
	parse  func(string) (*semver.Version, error)

	version *semver.Version // nil while none is wanted
	text    string
	choice  T
	newest  []*semver.Version
}

// offer a version. What is no version is passed over, as Helm does.
func (s *selection[T]) offer(text string, what T) {
	version, err := s.parse(text)
	if err != nil {
		return
	}
	s.remember(version)
	if s.wanted.admits(version) && (s.version == nil || compare(version, s.version) > 0) {
		s.version, s.text, s.choice = version, text, what
	}
}

func (s *selection[T]) remember(version *semver.Version) {
	at, there := slices.BinarySearchFunc(s.newest, version, func(a, b *semver.Version) int { return compare(b, a) })
	if there || at == named {
		return
	}
	s.newest = slices.Insert(s.newest, at, version)
	s.newest = s.newest[:min(named, len(s.newest))]
}

// available says which versions there are.
func (s *selection[T]) available() string {
	if len(s.newest) == 0 {
		return "it has no versions at all"
	}
	texts := make([]string, 0, named)
	for _, version := range s.newest {
		texts = append(texts, version.String())
	}
	return "the newest there: " + strings.Join(texts, ", ")
}
