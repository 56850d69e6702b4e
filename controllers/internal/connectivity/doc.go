// Package connectivity says whether the workload cluster of an object can be worked with, and how long an object that is
// deleted waits for a cluster that does not answer, or that goes itself. Targets and runs share it; it knows neither.
package connectivity
