package fairshare

// Limits say how places are shared.
type Limits struct {
	// Places are how many may be held at a time, at least 1.
	Places int
	// PerTenant is the most that one tenant holds, while no other holds any. Of the places that others leave, a tenant holds
	// the same share, and at least one.
	PerTenant int
	// PerGroup is the most that are held for one group.
	PerGroup int
	// PerTenantInGroup is the most of these that one tenant holds.
	PerTenantInGroup int
}

// LimitsOf are those of workers: at most a quarter of them works for one tenant, and at most an eighth for one group, but
// two in either case, of which one at least is left for others.
func LimitsOf(workers int) Limits {
	workers = max(workers, 1)
	atLeast := max(1, min(2, workers-1))
	perGroup := max(atLeast, workers/8)
	return Limits{Places: workers, PerTenant: max(atLeast, workers/4), PerGroup: perGroup, PerTenantInGroup: perGroup}
}

// allowance is how many places a tenant may hold that leaves so many to it and to those that hold none.
func (l Limits) allowance(left int) int {
	return max(1, left*l.PerTenant/l.Places)
}
