// Package trial tries the content of a policy before any of its clusters gets it: in the background, for one cluster after the
// other, until it can be used for one. What can be used for none is refused, and the clusters stay at what they have.
//
// A trial says nothing of what a cluster will make of the content. It costs no request to a cluster, and is bounded: so many
// clusters, so many that took too much, and so long. Whatever cannot be found out passes, since each cluster's own controller
// looks again.
package trial
