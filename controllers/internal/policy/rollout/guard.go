package rollout

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/daytwo-dev/daytwo/controllers/internal/plural"
)

// Guard bounds how many clusters a policy loses within an hour before a person has to confirm it.
type Guard struct {
	// MaxClusters may always go; below 1 counts as 1. A policy that had no more within the hour is
	// not guarded.
	MaxClusters int
	// MaxPercent of the most clusters that the policy had within the hour, rounded down; 100 is no
	// guard.
	MaxPercent int
}

func (g Guard) floor() int { return max(g.MaxClusters, 1) }

// limit is how many may go within an hour.
func (g Guard) limit(peak int) int { return max(g.floor(), peak*g.MaxPercent/100) }

func (g Guard) allows(count, peak int) bool {
	return g.MaxPercent >= 100 || peak <= g.floor() || count <= g.limit(peak)
}

// AtMost is the guard within the bounds of another one. The zero value of that bounds nothing.
func (g Guard) AtMost(most Guard) Guard {
	if most == (Guard{}) {
		return g
	}
	return Guard{MaxClusters: min(g.MaxClusters, most.MaxClusters), MaxPercent: min(g.MaxPercent, most.MaxPercent)}
}

// String is "10 clusters or 50 percent, whichever is more".
func (g Guard) String() string {
	return fmt.Sprintf("%s or %d percent, whichever is more", plural.Of(g.MaxClusters, "cluster"), g.MaxPercent)
}

// ParseGuard reads a guard as in "10,50%": a number of clusters from 1, and a percentage from 0 to 100.
func ParseGuard(text string) (Guard, error) {
	number, percentage, _ := strings.Cut(text, ",")
	clusters, err := strconv.Atoi(number)
	percent, errPercent := strconv.Atoi(strings.TrimSuffix(percentage, "%"))
	if err != nil || errPercent != nil || !strings.HasSuffix(percentage, "%") || clusters < 1 || percent < 0 || percent > 100 {
		return Guard{}, fmt.Errorf("%q is no guard: use a number of clusters from 1 and a percentage to 100, as in 10,50%%", text)
	}
	return Guard{MaxClusters: clusters, MaxPercent: percent}, nil
}
