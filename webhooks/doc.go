// Package webhooks answers at admission what CEL cannot say, because it takes other objects to know it:
//
//   - TenantCluster: whether Cluster API accepts spec.topology, by sending it the derived Cluster as a dry run, and
//     whether spec.maintenanceWindows can be read;
//   - every kind of policy: whether an edit of its selectors would lose more clusters than its guard allows, and whether
//     they select any;
//   - SaaSAddon: whether its inline manifests and values can be read and, where nobody but the API server is answered, rendered for
//     one of its clusters.
//
// It only answers earlier. The controllers decide the same by themselves, with the same code, whenever they act: an
// order that nobody checked is Stalled with the same words, and the planner holds a withdrawal back whoever caused
// it. That is why the webhooks are Ignored when they fail (failurePolicy): a manager that is down, or a certificate
// that ran out, keeps nobody from working. And it is why only a clear no refuses. Whatever cannot be found out now is
// a warning to the person who writes.
//
// Nothing is written, every replica answers, whether it leads or not, and what does not concern these fields
// never gets here (matchConditions).
package webhooks
