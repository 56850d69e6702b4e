// Package addonrelease keeps one add-on in one workload cluster as its revision declares it.
//
// target.Declared observes the release, its cluster and what the watches saw there; plans what to write and
// what to remove; applies that; and reports it. [Reconciler] tells it what the revision renders to, and adds
// what a chart needs beside its objects, which package helm does. What is as it should be costs no request. An
// object that somebody changed is taken back, and who changed what is told.
//
// It promises: the inventory lists an object before it is in the cluster, and until it is gone from
// there, so that a manager killed at any moment leaves nothing behind; an object that belongs to
// somebody else is never taken silently; what is left in an unreachable cluster is said.
//
// It never selects clusters or changes a release's spec (controllers/saasaddon does), never opens a
// connection (controllers/tenantcluster does), and never waits inside a reconcile: what is awaited
// comes back as a watch event.
package addonrelease
