package target

import (
	"slices"
	"strings"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
	"github.com/daytwo-dev/daytwo/controllers/internal/truncate"
)

// tolerated is what stays of what others set, as the watches show it now: our own writes may just have changed it, and
// their events tell nobody.
func tolerated(i apply.Inventory, cluster *fleet.Cluster) []metav1alpha1.ToleratedManager {
	if cluster == nil {
		return nil
	}
	managers := make([][]string, 0, len(i))
	for key := range i {
		if seen, _ := cluster.Tracker.Look(key); seen != nil && !seen.Gone {
			managers = append(managers, seen.Tolerated)
		}
	}
	return countManagers(managers)
}

// countManagers counts, by field manager, the objects in which others set something. The ten with most of them are
// named.
func countManagers(byObject [][]string) []metav1alpha1.ToleratedManager {
	counts := map[string]int32{}
	for _, managers := range byObject {
		for _, manager := range managers {
			counts[truncate.Cut(manager, maxManager)]++
		}
	}
	list := make([]metav1alpha1.ToleratedManager, 0, len(counts))
	for manager, count := range counts {
		list = append(list, metav1alpha1.ToleratedManager{Manager: manager, Objects: count})
	}
	slices.SortFunc(list, func(a, b metav1alpha1.ToleratedManager) int {
		if a.Objects != b.Objects {
			return int(b.Objects - a.Objects)
		}
		return strings.Compare(a.Manager, b.Manager)
	})
	if len(list) == 0 {
		return nil
	}
	return list[:min(len(list), maxToleratedManagers)]
}

// maxToleratedManagers is how many field managers the status names; the CRD says the same.
const maxToleratedManagers = 10
