// Package managedfields reads managedFields: who set what of an object, whether others may, and whether the
// object is still what it was after our last apply. Everything here is pure.
//
// Entries fall into four groups. Ours is what Daytwo applied. Entries with a subresource (status,
// scale) are the business of controllers and say nothing of the desired state. Entries of known
// controllers are expected on objects that Daytwo owns: kube-controller-manager binds volumes, for
// one. All others are foreign: somebody changed the object.
//
// Rules decide for each field of a foreign entry whether it is tolerated, in this order: the catalog of
// exceptions (catalog.go), declared values, which are taken back from everybody, the place (places.go), and who
// set it (tools.go). What is tolerated counts nowhere: neither in a fingerprint nor in a takeover.
//
// Field managers are names that clients choose. The rules sort honest writers by them; they protect from nobody.
package managedfields
