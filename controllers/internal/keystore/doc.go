// Package keystore builds Java keystores (JKS) and PKCS#12 files from what an issuer issued, for programs that read no PEM. Content and
// layout are those of cert-manager 1.21 (its package pkg/controller/certificates/issuing/internal), with the same libraries: a
// keystore has the key with its chain, and the CAs; a trust store has the CAs alone.
//
// The same material, password and options give the same bytes, on every machine and at every time. So a keystore is compared by
// its hash like any other content, and drift in a cluster is seen without the password. Both formats have salts and
// initialization vectors, which are random elsewhere, and JKS has times. Here the times are the NotBefore of the certificates, and
// everything else comes from a stream that is derived with HKDF (RFC 5869) from the private key, all certificates and the password.
//
// That is as safe as random salts, for these reasons:
//
//   - Salts have to be unpredictable and different for different secrets. The stream is the output of a pseudorandom function
//     that is keyed by the private key, among others, which has at least 112 bits of entropy. Who does not have the key
//     cannot tell the salts from random ones, cannot compute tables ahead, and cannot see that two keystores have the same
//     password.
//   - No salt or initialization vector is used with two contents: when the key, a certificate or the password differs, so does all of
//     the stream. Equal files have equal content, which is what is told here on purpose. The approach is that of synthetic
//     initialization vectors (RFC 5297).
//   - Who has the private key, and a keystore with it, could test guesses of the password against a salt. The password goes
//     through PBKDF2 first, with more rounds than the formats have, so that this is slower than a test against the keystore itself.
//
// The stream of a trust store has the private key in it as well, though its content is public: without it the salt would be
// no more than a function of a password that people choose. Thus a trust store changes when the key does.
//
// The package is pure: no client, no context, no clock. It verifies nothing; issuance.Check does.
package keystore
