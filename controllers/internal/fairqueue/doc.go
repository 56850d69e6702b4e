// Package fairqueue is the work queue of controllers that work for many tenants in many clusters: one that takes long, or
// asks for much, holds up no other.
//
// Each key has a [Place]: a tenant and a cluster, which the controller tells from its cache. Package fairshare decides with
// these which key a worker gets next. A key over its share stays in the queue until a place of its tenant and cluster is
// free; it occupies no worker, and nothing is polled.
//
// Otherwise a Queue does what the priority queue of controller-runtime does: a key is never in two workers, a key that is
// added while it is worked on comes again after that, of several times that it is to come at the earliest counts, and of
// several priorities the highest. Its metrics are the same.
package fairqueue
