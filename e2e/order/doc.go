// Package order tests clusters on order: the whole manager, the real Cluster API manager, and clusters that
// are really made, upgraded and removed.
package order
