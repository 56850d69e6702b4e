package rotation

import (
	"fmt"
	"slices"
	"time"
)

// check looks at all pairs: whatever leaf a cluster serves, the others trust it.
func (f *fleet) check() {
	for _, server := range f.clusters {
		for _, other := range f.clusters {
			pair := [2]string{server.name, other.name}
			switch {
			case server == other || !f.isBroken(server, other):
				delete(f.excused, pair)
			case f.excused[pair] || f.emergency || server.tainted || other.tainted:
			case f.restoreBroke(server, other):
				f.excused[pair] = true
			case f.violation == "":
				f.violation = fmt.Sprintf("%s: %s serves a leaf of authority %d, and %s trusts %v; record %+v", f.now.Format(time.TimeOnly),
					server.name, server.loaded.leaf.issuer, other.name, other.loaded.trust.generations, f.record)
			}
		}
	}
}

func (f *fleet) isBroken(server, other *simulatedCluster) bool {
	takesPart := other.selected && other.joined && other.target != nil && !other.target.deleting
	issuer := server.loaded.leaf.issuer
	return issuer != 0 && takesPart && !slices.Contains(other.loaded.trust.generations, issuer)
}

// restoreBroke is whether one of them is what a restore brought, and the other was told what it has by a plan that could not know it.
func (f *fleet) restoreBroke(server, other *simulatedCluster) bool {
	leaf, trust := server.loaded.leaf, other.loaded.trust
	if leaf.restore > 0 && leaf.issuer != trust.seen.current && leaf.issuer != trust.seen.next {
		return true // The leaf is from before the rotation.
	}
	return leaf.restore > 0 && (trust.restore > 0 || trust.first || trust.seen.restores[server.name] < leaf.restore) ||
		trust.restore > 0 && (leaf.first || leaf.seen.restores[other.name] < trust.restore)
}

// forgive ends what people took upon themselves, once a cluster has caught up.
func (f *fleet) forgive() {
	caughtUp := func(c *simulatedCluster) bool {
		if c.target == nil {
			return true
		}
		told := c.target.Told
		last := arriving(&f.record)
		both := told.AnchorHash == AnchorHash(f.record.Current.Anchor, f.record.Next.Anchor) && active(&f.record) && f.record.Phase != Completing
		only := (f.record.Phase == Idle || f.record.Phase == Completing) && told.AnchorHash == AnchorHash(last.Anchor) && told.Issuer == last.Generation
		return (both || only) && c.loaded.same(c.stored) && c.stored.trust.hash == told.AnchorHash && c.stored.leaf.issuer == told.Issuer
	}
	all := f.record.Phase == Idle
	for _, one := range f.clusters {
		excluded := slices.ContainsFunc(f.spec.Exclude, func(e Exclusion) bool { return e.Cluster == one.name })
		one.tainted = excluded || one.tainted && !caughtUp(one)
		all = all && caughtUp(one)
	}
	f.emergency = active(&f.record) && f.record.Emergency != "" || f.emergency && !all
}
