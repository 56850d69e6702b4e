// Package reload has the workloads of a cluster load what was delivered: it annotates the pod templates of the Deployments,
// StatefulSets and DaemonSets that use a delivered Secret or ConfigMap with the hash of its content, so that their own
// controllers replace the pods, each by its rollout strategy.
//
// It promises: the annotation is a function of the content, so that nothing but another content restarts anything; it owns
// that annotation and nothing else; what others set there is not overwritten. Whatever the cluster answers, one look reads a
// bounded number of workloads, one at a time, and what is in the way in one namespace holds up no other.
//
// It never takes an annotation away, also when the object is not delivered any more: that would restart the pods once more, for
// nothing.
package reload
