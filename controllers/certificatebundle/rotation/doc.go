// Package rotation decides how the certificate authority of a policy is replaced in all of its clusters, so that at no
// instant a cluster serves a leaf that another one does not trust.
//
// [PlanRotation] is a pure function: from what the policy's status remembers ([Record]), who takes part ([Membership]), what a
// person wants ([Spec]), the authorities that exist and the clusters with what they acknowledged, to the next record, what
// each cluster is to be told, what is waited for, and when to be asked again. No client, no context, no clock.
//
// # Phases
//
//	Idle        one authority: every cluster trusts it and has its leaf from it
//	Preparing   the next authority is made, and its anchor is told to every cluster beside the current one
//	Prepared    every cluster acknowledged both anchors and has loaded them
//	Switching   leaves are issued from the next authority, as fast as the rollout has slots
//	Switched    no leaf of the current authority is there any more; the overlap passes
//	Completing  the current anchor is removed; then Idle, with the next authority as the current one
//
// Two rules make it safe. A cluster is told to take its leaf from an authority once every member acknowledged that
// anchor and has loaded it. An anchor is removed once every member acknowledged a leaf of the other authority, and the
// overlap passed since the last leaf was replaced there. The overlap counts for each cluster by itself: one that is restored
// serves an old leaf again, and the overlap starts when that is replaced.
//
// Rolling back changes the direction and nothing else: both anchors stay where they are, leaves are issued from the current
// authority again, and then the anchor of the next one is removed. A rollback that is taken back goes through Preparing again.
// Completing cannot be rolled back, since some clusters do not trust the old anchor any more by then.
//
// What goes back in a cluster goes back here. A cluster whose trust or identity differs from what it was told reopens
// Preparing, one whose leaf does reopens Switching. Until it has what it was told, no other leaf changes. Completing stops
// removing anchors while a cluster is known to serve a leaf of the old authority.
//
// # What an acknowledgement is
//
// It is what a target read back in its cluster, beside the policy, the generation of the target and the identity of the cluster.
// It counts for the generation that the target has now; so an acknowledgement from before the cluster was told something else
// counts for nothing. Whoever writes acknowledgements keeps two promises. What differs in the cluster is reported before
// it is corrected; otherwise a manager that dies in between corrects a restored cluster unnoticed, and times that begin with
// the correction are lost. And TrustSince and ReplacedAt never lie before the write that they stand for. What a workload
// loads is what is stored there, within Spec.TrustPropagation: a restore is taken to restart workloads, or to let them load again.
//
// A step from one phase to the next starts from a list of clusters and targets read past the cache, with every member
// reachable. In between, a plan may be made from a cache that is behind: both anchors are trusted then, whatever the leaf is.
//
// # Who takes part
//
// Members are all clusters that are selected or have a target, those that the withdrawal guard holds included. They are persisted
// before the phase begins in which they count, and none is removed before Idle. A member that a list does not show any more
// (a label was removed, a selector changed, a cache is behind) blocks until it is looked up by the name of its target, which
// is always the same, and proves to be gone: a target goes after it removed what it had in its cluster, or after a
// person let it go. A cluster without a target has nothing yet; it is told both anchors first, gets its leaf once it
// acknowledged them and has loaded them, and holds nobody up. A target that is being deleted is not told anything and needs no trust; the old anchor
// stays until it is gone.
//
// # Where the members are kept
//
// A policy may have 5,000 clusters. Namespaces and names of 70 bytes are 350 KB, in a status that shares its 1.5 MB in etcd with
// everything else there, and that is read and written whole for each change of a condition. So the status holds how many
// members there are and the hash of their names, some 60 bytes ([Members]). The state of a member is on its target, where it is written
// anyway: what it was told in the spec, what it acknowledged in the status. What is left are names, which change when clusters
// join: [Membership] encodes them, compressed, for an immutable object of its own that is named by the hash. It is written first,
// then the record that names it, then targets. A manager that dies in between leaves an object that no record names. The names of
// 5,000 clusters take some 20 to 150 KB; what does not fit into [MaxMembershipBytes] before compression is refused before
// a rotation starts. Hashes of names would take 40 KB whatever the names, but could not tell a person who is missing.
//
// If the object is lost, the members are those that the next list past the cache shows, and the phase begins again.
// If the record is lost (a status is not restored from every backup), what targets were told says which authorities are
// in use, and the rotation goes on from Preparing.
//
// # What the caller does
//
// In this order: store Plan.Membership if it is new, write Plan.Record in the place of the record that was read (read past the
// cache, or with its resource version), make the authority of Plan.MakeAuthority, then write what Plan.Wants tells to targets,
// each in the place of the version that the plan saw. The rest may be left undone at any point. No write of a plan may begin
// after the next plan is made, or end later than Spec.TrustPropagation after it began. If Plan.NeedsList is
// set, list past the cache and plan again. If Plan.LookUp is not empty, read these targets by name, add those found to the clusters
// and the others to Input.Gone, and plan again. An authority in Plan.Retired is not needed any more.
package rotation
