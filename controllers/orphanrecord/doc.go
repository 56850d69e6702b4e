// Package orphanrecord sweeps what was left in clusters that did not answer, once they are registered again.
//
// OrphanRecords (controllers/internal/orphans writes them) are worked on a namespace at a time. When a TenantCluster of the
// namespace is Ready again with the identity that a record names, the record's objects are removed from that cluster: those
// that still have the UID of the record and the label of this installation, and that no AddonRelease has by now. What is
// gone leaves the record; what could not be removed stays in it, with the reason. A record whose objects are all gone is
// deleted. The condition Swept of a record says what its sweep does or waits for.
//
// It promises: nothing is removed because of its name alone, or because a record says so; PersistentVolumeClaims, what is
// kept on purpose, namespaces that hold anything and definitions that have instances stay; whoever writes an object between
// our look at it and its deletion keeps it; add-ons that select the cluster again come first, and keep what is theirs.
//
// It never creates a record (controllers/addonrelease and controllers/tenantcluster do), and never touches a cluster that is
// suspended, is being deleted, or has only just come back.
package orphanrecord
