package deletion

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/daytwo-dev/daytwo/controllers/internal/truncate"
)

// shown is how many names a message has.
const shown = 3

// subject of a sentence: it names the first few of each kind, as in "AddonRelease acme/a, acme/b and Note acme/c are".
func subject(targets []Target) string {
	var parts []string
	for _, group := range byKind(targets) {
		var names []string
		for _, target := range group {
			names = append(names, target.String())
		}
		parts = append(parts, group[0].Kind+" "+truncate.Names(names, shown))
	}
	if len(parts) > 1 {
		return strings.Join(parts, " and ") + " are"
	}
	return parts[0] + " is"
}

// byKind groups targets that are in the order of their kinds.
func byKind(targets []Target) (groups [][]Target) {
	for i, target := range targets {
		if i == 0 || target.Kind != targets[i-1].Kind {
			groups = append(groups, nil)
		}
		last := &groups[len(groups)-1]
		*last = append(*last, target)
	}
	return groups
}

func sortedKeys(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }

func inWords(at time.Time) string { return at.UTC().Format(time.RFC3339) }
