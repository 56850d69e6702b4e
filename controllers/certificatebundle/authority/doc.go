// Package authority makes and keeps the certificate authorities of a CertificateBundle with spec.ca.
//
// Each generation of an authority is a root with a key of its own, in an immutable Secret beside the bundle, where the Issuer of
// cert-manager finds it. Its name follows from the bundle and the generation, so that a generation is made once. The key is read by
// cert-manager alone: Daytwo makes it, and reads no more than the certificate afterwards.
package authority
