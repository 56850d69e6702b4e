// Package issuing has the certificates of CertificateBundles issued by cert-manager, in the management cluster: one Certificate
// for each bundle and cluster, or one for all clusters of a bundle.
//
// What cert-manager issued is checked before it is used: package issuance says how. What passes becomes an issuance, an
// immutable Secret in the bundle's namespace, which targets name from then on. So a cluster that was away for a month is
// healed with the key that it has, whatever was issued meanwhile, and an issuer that breaks changes nothing in any cluster.
//
// A key is made once for each issuance, by cert-manager. No restart, no resync and no drift leads to another one: a Certificate is
// written only if what is asked for has changed. The reconciler works on one Certificate at a time, and forgets nothing that it
// could not find out again from the API server.
package issuing
