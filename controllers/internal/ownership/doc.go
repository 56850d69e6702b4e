// Package ownership reads managedFields: who set what of an object, and whether that is still what
// it was after our last apply. Everything here is pure.
//
// Entries fall into four groups. Ours is what Daytwo applied. Entries with a subresource (status,
// scale) are the business of controllers and say nothing of the desired state. Entries of known
// controllers are expected on objects that Daytwo owns: kube-controller-manager binds volumes, for
// one. All others are foreign: somebody changed the object.
package ownership
