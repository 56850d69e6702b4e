// Package fencing keeps a manager that may not be the leader any more from writing to any cluster.
//
// The leader election ends a manager that cannot renew its lease, but takes time to notice: a process that
// was stopped for longer than its lease goes on where it was, while another one leads already. So every
// write asks a Fence, which knows until when nobody else can have taken the lease: the lease's duration,
// counted from when the last successful renewal was sent.
//
// A request is checked when it begins, and again when its bytes are handed to the kernel, since it may
// have waited for a connection in between. What remains is what was handed over in time and arrives late.
package fencing
