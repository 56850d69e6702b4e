// Package untrusted tells, before a text is decoded, how much memory its decoder would take, and so lets its callers refuse
// what a cluster, a customer or a chart made to be larger than it looks.
package untrusted
