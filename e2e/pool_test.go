package e2e

import "sync"

// pool lends clusters to tests: one TenantCluster at a time may lead to a cluster.
type pool struct {
	changed    *sync.Cond
	full, bare []string
}

func newPool() *pool { return &pool{changed: sync.NewCond(&sync.Mutex{})} }

// lent are clusters of one test.
type lent struct{ full, bare []string }

func (l lent) all() []string { return append(append([]string(nil), l.full...), l.bare...) }

// take waits until so many clusters are free, and takes all of them at once, so that no two tests
// wait for each other.
func (p *pool) take(full, bare int) lent {
	p.changed.L.Lock()
	defer p.changed.L.Unlock()
	for len(p.full) < full || len(p.bare) < bare {
		p.changed.Wait()
	}
	taken := lent{full: p.full[:full:full], bare: p.bare[:bare:bare]}
	p.full, p.bare = p.full[full:], p.bare[bare:]
	return taken
}

func (p *pool) giveBack(back lent) {
	p.changed.L.Lock()
	defer p.changed.L.Unlock()
	p.full, p.bare = append(p.full, back.full...), append(p.bare, back.bare...)
	p.changed.Broadcast()
}
