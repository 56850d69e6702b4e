// Package run is the life of a run of any kind: something that a person or a schedule starts, that works once in one
// cluster or several, and then ends. A [Kind] says what its runs do; this package knows none.
//
// A run does one step after the other. An action makes an object in a cluster ([action]); a task does something else, such as
// reading an archive, beside the workers. Each is in the status of the run before it begins, so a manager that dies goes on
// where it was. When the run has an outcome, what it made is removed, the latest first, apart from what its kind keeps. From
// then on the run works in no cluster, and stays as a record until somebody deletes it.
//
// A run is cancelled by spec.cancel, by its deletion, and by the deletion of a TenantCluster in which it works. It removes
// what it made in a cluster that answers. For one that does not, it waits until a person abandons it with the annotation
// daytwo.dev/abandon, or until the deletion of the TenantCluster is due; what stays is in an OrphanRecord.
package run
