// Package orphanledger sweeps what was left in clusters that did not answer, once they are registered again.
//
// There is one ledger a namespace (controllers/internal/orphans). When a TenantCluster of the namespace is Ready
// again with the identity that an entry names, the entry's objects are removed from that cluster: those that
// still have the UID of the entry and the label of this installation, and that no AddonRelease has by now. What
// went leaves the ledger; what could not be removed stays in it, with the reason.
//
// It promises: nothing is removed because of its name alone, or because the ledger says so, which customers may
// write; PersistentVolumeClaims, what is kept on purpose, namespaces that hold anything and definitions that
// have instances stay; whoever writes an object between our look at it and its deletion keeps it; add-ons that
// select the cluster again come first, and keep what is theirs.
//
// It never writes entries of its own (controllers/addonrelease and controllers/tenantcluster do), and never
// touches a cluster that is suspended, is being deleted, or has only just come back.
package orphanledger
