// Package throttle limits how often a status is written that only mirrors changes of others, such as the health of a customer's
// workloads. News is written at once. After a write that only mirrored, a pause holds up the next one of that sort: the latest
// state is written when it ends.
//
// The caller decides whether a change outside of the conditions mirrors. For conditions the package decides: a status and reason
// that was not told yet since people last changed what they ask for is news; every other change of a condition mirrors. So the first
// success and the first failure are told at once, and a condition that flaps between them is not. Steps of what goes on, such as a
// backup that begins and ends, are told at once as long as there are few of them.
//
// The package is pure, and knows no kind.
package throttle
