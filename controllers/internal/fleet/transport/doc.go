// Package transport is the HTTP/2 connection to one workload cluster. Each connection that is opened is asked for the
// cluster's identity before it carries anything else, and pings find it dead within seconds. Answers are bounded
// (package bounded), and writes pass the fence of the leader election.
package transport
