// Package relay answers the CertificateSigningRequests of workload clusters for CertificateBundles in mode Relay: the key stays
// where somebody made it, and only the request and the certificate travel.
//
// It promises: a certificate is issued for what the policy of the bundle allows in that cluster and for nothing else. What is
// checked are the very bytes that cert-manager is given, so a cluster that shows another request afterwards gets nothing for
// it. What comes back is checked against the key and the names of these bytes before it is written. Requests of other
// signers, and those of other clusters, are never touched.
//
// Everything is found out from what is there: a request in the cluster that has no answer yet, and the CertificateRequest in the
// management cluster whose name follows from it. So a manager that dies at any moment asks for nothing twice. A cluster is bounded
// in requests that are looked at, in those that are with the issuer at a time, and in those that go there within an hour.
//
// It makes no key and no Secret, and reads none.
package relay
