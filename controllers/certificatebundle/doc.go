// Package certificatebundle is what a CertificateBundle is made of: the certificate that each cluster gets, the trust anchors
// that all of them get, and which objects hold these. How it reaches its clusters is the policy room's (package policy), whose
// Kind the Reconciler is.
//
// A revision is the template with the anchors. The certificate of a cluster is no part of it: package issuing has it issued, and
// the target of the cluster names it. A cluster waits until its certificate is as the bundle asks for; a renewal passes slots and
// maintenance windows where the old certificate would expire first.
//
// It never talks to a workload cluster, and never reads a private key.
package certificatebundle
