// Package standstill finds out why a workload in a workload cluster does not become healthy, and since when: it reads the
// workload's pods once it has been unhealthy for a while, and again ever more rarely. It writes nothing.
package standstill
