// Package helm is what a Helm chart adds to the application of its objects: the release's hooks, its record, the objects
// that a record brought and no inventory knows, and the renderings that cannot be made again. [Stages] put that around
// an apply; [NewPlan] decides before which of it is due.
//
// A hook is in the target's status before it is created, and how it ended is there before its object is deleted. The
// record is written last, so that what it says is so. No function waits: a hook that ends makes a watch event.
//
// Package apply keeps the objects of a chart, not this package. It knows no reconcile: a caller gives a [Target].
package helm
