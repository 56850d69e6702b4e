package certificatebundle

import (
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/certificatebundle/authority"
	"github.com/daytwo-dev/daytwo/controllers/certificatebundle/rotation"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
)

// decision is what was decided last about the clusters of a bundle with spec.ca.
type decision struct {
	plan  rotation.Plan
	uid   types.UID
	roots map[int64]authority.Root
	// everywhere is told to every cluster that is not in told; Issuer is 0 where it is not known what to tell.
	everywhere rotation.Told
	told       map[rollout.ClusterKey]rotation.Told
}

// in is what a cluster is told; false if nothing, or nothing else than before.
func (d *decision) in(cluster rollout.ClusterKey) (rotation.Told, bool) {
	if told, is := d.told[cluster]; is {
		return told, true
	}
	return d.everywhere, d.everywhere.Issuer != 0
}

// delivered is the form in which a delivery is told; nil for nothing.
func (d *decision) delivered(told rotation.Told) *certificatesv1alpha1.DeliveredAuthority {
	var anchors strings.Builder
	for _, generation := range told.Trust {
		root, known := d.roots[generation]
		if !known {
			return nil
		}
		anchors.WriteString(root.PEM)
	}
	if anchors.Len() == 0 {
		return nil
	}
	return &certificatesv1alpha1.DeliveredAuthority{
		PolicyUID: string(d.uid), Generations: slices.Clone(told.Trust), AnchorHash: told.AnchorHash, Anchors: anchors.String(),
	}
}

// decisions remembers what was decided about each bundle. It is decided again after a restart, before anything is written.
type decisions struct {
	mu       sync.Mutex
	byBundle map[types.NamespacedName]*decision
}

// of is nil where nothing was decided.
func (d *decisions) of(bundle types.NamespacedName) *decision {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.byBundle[bundle]
}

// set returns the clusters that are told something else than before.
func (d *decisions) set(bundle types.NamespacedName, next *decision) []rollout.ClusterKey {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.byBundle == nil {
		d.byBundle = map[types.NamespacedName]*decision{}
	}
	before := d.byBundle[bundle]
	d.byBundle[bundle] = next
	if before == nil {
		return nil // Nobody was asked before.
	}
	return changedBetween(before, next)
}

func (d *decisions) forget(bundle types.NamespacedName) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.byBundle, bundle)
}

// changedBetween two decisions are the clusters that either names, and that are told something else.
func changedBetween(before, next *decision) []rollout.ClusterKey {
	var changed []rollout.ClusterKey
	for _, named := range []map[rollout.ClusterKey]rotation.Told{before.told, next.told} {
		for cluster := range named {
			was, wasTold := before.in(cluster)
			is, isTold := next.in(cluster)
			if wasTold != isTold || !was.Equal(is) {
				changed = append(changed, cluster)
			}
		}
	}
	slices.SortFunc(changed, rollout.ClusterKey.Compare)
	return slices.Compact(changed)
}
