// Package fleet holds the connections to the workload clusters. It is the one place that opens them.
//
// Each connected TenantCluster has one HTTP/2 connection, whose identity (the UID of the namespace
// kube-system) is checked before anything else passes over it, every time it is opened: a request
// cannot reach another cluster than the one that was admitted. Over it go an uncached client and one
// label-filtered watch for each kind in use.
//
// A connection lives in a goroutine of its own. It is found dead by HTTP/2 pings, by the end of a
// watch, or by a probe once a minute, and is tried again with jittered exponential backoff, at most
// every 30 s. Nobody waits for it: a reconciler asks Get and has a connected cluster or has none.
//
// It is made of packages that do not know it. Package transport is one connection, portforward a connection to a pod through it,
// precondition what ties a write to one object, bounded is what is read of answers, resources is how kinds are served, news
// tells when what is known of a kind is too old, and tracker keeps what the watches see: for the objects of an inventory only,
// and of those a fingerprint and their health, so that a customer cannot fill the manager's memory. Of what is not Daytwo's, such as
// the backups that a schedule makes, a target may observe a selection, whole and up to a limit.
package fleet
