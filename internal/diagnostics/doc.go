// Package diagnostics serves the manager's metrics and profiles to whoever may see them. Metrics name all clusters of all
// customers, and profiles hold what the manager has in memory.
//
// Where the address is one of loopback, only the machine itself gets there, and nobody is asked who they are. At any other
// address they are served over TLS, and the management cluster says who asks (TokenReview) and whether they may
// (SubjectAccessReview of the path).
package diagnostics
