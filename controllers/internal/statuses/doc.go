// Package statuses writes the status of an object in the management cluster, for controllers whose status is the record of
// what they do elsewhere. A [Writer] puts a status in the place of the one that was read, and of no other. A [Latest] stands
// in for the cache until that shows what was written: a status that is compared with an older one of its own may look as if
// it was written already.
package statuses
