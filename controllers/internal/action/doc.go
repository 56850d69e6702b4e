// Package action does something once in a workload cluster by making an object there, such as a backup or a restore, and
// waits for its end. Runs and targets use it.
//
// [New] makes the record of an action, which its user stores in a status before anything else happens. The name of the
// object follows from the record. A manager that dies after the object was made finds it by that name, with the label
// daytwo.dev/action, and makes no second one. [Situation.Next] decides what is to be done; it is pure. [Do] does it in the
// cluster, and [Remove] removes the object.
//
// One gap remains. Somebody else removes the object before its UID is stored, and the manager dies at the same moment:
// then the object is made again.
package action
