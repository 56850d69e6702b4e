// Package issuance checks what an issuer issued before anything of it is written into a customer's cluster. A broken issuer
// never replaces a certificate that works.
//
// Check takes the three texts of a kubernetes.io/tls Secret and what was asked for. It passes a certificate when the key
// belongs to it, its names and usages are those that were asked for, its chain is in order and builds to the CA, and all of
// that is valid now. Anchors reads a bundle of CA certificates, and returns it in one canonical form.
//
// Everything that is read here is hostile: it has bounds in bytes and in number, and keys have bounds in bits, so that no
// signature takes long to check. At most 30 signatures are checked for the order of a chain, 100 by x509.Certificate.Verify, and
// 220 to tell what is wrong with the CAs.
//
// The package is pure: no client, no context, no clock. Its errors and results hold nothing of a private key.
package issuance
