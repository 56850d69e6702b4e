// Package teardown orders the removal of objects: what depends on others goes before what it depends on.
//
// Custom resources go first, while the operator that finalizes them still runs and its admission webhooks still
// answer. Definitions go after their objects, and namespaces last. It is pure, and knows kinds by name only.
package teardown
