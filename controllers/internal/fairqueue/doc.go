// Package fairqueue is the work queue of controllers that work for many tenants in many clusters: one that takes long, or
// asks for much, holds up no other.
//
// Each key has a [Place]: a tenant and a cluster, which the controller tells from its cache. Package fairshare decides with
// these which key a worker gets next. A key over its share stays in the queue until a place of its tenant and cluster is
// free; it occupies no worker, and nothing is polled.
//
// Otherwise a Queue behaves as the priority queue of controller-runtime does. A key is never in two workers. A key that is
// added while a worker has it comes again afterwards. Of several times the earliest counts, and of several priorities the
// highest. Its metrics are the same.
package fairqueue
