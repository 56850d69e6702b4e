// Package drills decides which DRDrills the plans of a policy make in one cluster, and tells what those of the past showed.
//
// It promises: a start makes one drill, whenever the manager dies; a plan makes no other while one of its own is under way;
// clusters of a plan with a share take turns. It is pure.
package drills
