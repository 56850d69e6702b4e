// Package certificatedelivery keeps one CertificateBundle in one cluster: the Secrets with the certificate that was issued for
// the cluster, and the objects with its trust anchors.
//
// It promises: nothing is pushed that was not checked just before, so that a broken issuer, or somebody who edits Secrets in the
// management cluster, never replaces a certificate that works; an object that somebody else made is left as it is unless the
// bundle says Adopt; what was delivered stays in the cluster whatever happens in the management cluster, and is put back when
// somebody deletes it, with the key that the cluster has. What it tells was read back from the cluster.
//
// Where the bundle asks for it, the workloads that use what was delivered are restarted (package reload), and a server is asked
// which certificate it serves (package probe), both beside the workers: ReloadComplete is loaded, not stored.
//
// It keeps no private key longer than it takes to deliver it, and tells nothing of one.
package certificatedelivery
