// Package fairshare decides whose turn it is when many tenants share few places: workers of a controller, processes that
// render, fetches.
//
// Bulkheads keep a tenant, and a group such as a workload cluster or the host of a repository, to a share of the places,
// however much of theirs waits and however long it takes. What a tenant may hold shrinks with what others leave, so that a
// tenant that holds no place finds one as long as any is free. Between tenants it goes round robin: of k tenants that wait
// for something, each has a turn within k turns. Within a tenant the urgent come first, then those of a higher priority,
// then those that came first, so nobody overtakes another tenant by being urgent.
//
// A Scheduler is pure: it knows no clock, no goroutine and no lock, and says what goes next. Turns has goroutines wait for
// their turn. Package fairqueue makes a work queue of it.
package fairshare
