package deletion

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// shown is how many names a message has.
const shown = 3

// list names the first few.
func list(names []string) string {
	text := strings.Join(names[:min(len(names), shown)], ", ")
	if more := len(names) - shown; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

func namesOf(targets []Target) (names []string) {
	for _, target := range targets {
		names = append(names, target.String())
	}
	return names
}

func sortedKeys(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }

func inWords(at time.Time) string { return at.UTC().Format(time.RFC3339) }
