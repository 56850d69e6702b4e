package issuance

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"encoding/asn1"
	"encoding/pem"
	"fmt"
)

// Algorithms of keys, as cert-manager writes them.
const (
	AlgorithmRSA     = "RSA"
	AlgorithmECDSA   = "ECDSA"
	AlgorithmEd25519 = "Ed25519"
)

// parseKey reads tls.key. Its problems quote nothing of the file.
func parseKey(data []byte) (crypto.Signer, *Problem) {
	found, problem := blocks(keyFile, data, MaxKeyBytes, 1)
	if problem != nil {
		return nil, problem
	}
	block := found[0]
	if block.Type == "ENCRYPTED PRIVATE KEY" || block.Headers["Proc-Type"] != "" || block.Headers["DEK-Info"] != "" {
		return nil, problemf(ReasonKeyEncrypted, "%s is encrypted, and nobody can use it without its password: write it without one", keyFile)
	}
	if len(block.Headers) > 0 {
		return nil, problemf(ReasonUnexpectedBlock, "%s has PEM headers: leave them out", keyFile)
	}
	decoded, problem := decodeKey(block)
	if problem != nil {
		return nil, problem
	}
	signer, ok := decoded.(crypto.Signer)
	if !ok {
		return nil, problemf(ReasonKeyUnsupported, "%s holds a key that cannot sign: use RSA, ECDSA or Ed25519", keyFile)
	}
	if flaw := flawOf(signer.Public()); flaw != "" {
		return nil, problemf(ReasonKeyUnsupported, "%s holds %s", keyFile, flaw)
	}
	return signer, nil
}

// decodeKey reads a key in the form that the type of its block says. crypto/x509 ignores what follows a key in some
// forms.
func decodeKey(block *pem.Block) (any, *Problem) {
	decoders := map[string]func([]byte) (any, error){
		"PRIVATE KEY":     x509.ParsePKCS8PrivateKey,
		"RSA PRIVATE KEY": func(der []byte) (any, error) { return x509.ParsePKCS1PrivateKey(der) },
		"EC PRIVATE KEY":  func(der []byte) (any, error) { return x509.ParseECPrivateKey(der) },
	}
	decode, ok := decoders[block.Type]
	if !ok {
		return nil, problemf(ReasonUnexpectedBlock, "%s holds a PEM block that is no private key in PKCS#8, PKCS#1 or SEC 1: write one of these", keyFile)
	}
	if rest, err := asn1.Unmarshal(block.Bytes, &asn1.RawValue{}); err != nil || len(rest) > 0 {
		return nil, problemf(ReasonKeyUnreadable, "%s is cut off, or something follows the key: have the certificate issued again", keyFile)
	}
	decoded, err := decode(block.Bytes)
	if err != nil {
		return nil, problemf(ReasonKeyUnreadable, "%s holds no key that can be read in the form that its PEM type says: have the certificate issued again", keyFile)
	}
	return decoded, nil
}

// flawOf says what is wrong with a public key and what to use; empty for nothing.
func flawOf(public crypto.PublicKey) string {
	switch key := public.(type) {
	case *rsa.PublicKey:
		if bits := key.N.BitLen(); bits < MinRSABits || bits > MaxRSABits {
			return fmt.Sprintf("an RSA key of %d bits: use %d to %d", bits, MinRSABits, MaxRSABits)
		}
	case *ecdsa.PublicKey:
		if key.Curve != elliptic.P256() && key.Curve != elliptic.P384() && key.Curve != elliptic.P521() {
			return "an ECDSA key on a curve that is not supported: use P-256, P-384 or P-521"
		}
	case ed25519.PublicKey:
	default:
		return "a key of an algorithm that is not supported: use RSA, ECDSA or Ed25519"
	}
	return ""
}

// algorithmOf is the algorithm of a key and its size in bits.
func algorithmOf(public crypto.PublicKey) (string, int) {
	switch key := public.(type) {
	case *rsa.PublicKey:
		return AlgorithmRSA, key.N.BitLen()
	case *ecdsa.PublicKey:
		return AlgorithmECDSA, key.Curve.Params().BitSize
	default:
		return AlgorithmEd25519, 8 * ed25519.PublicKeySize
	}
}

// belongsTo is whether a key is the one of a certificate.
func belongsTo(public crypto.PublicKey, certificate *x509.Certificate) bool {
	key, ok := public.(interface{ Equal(crypto.PublicKey) bool })
	return ok && key.Equal(certificate.PublicKey)
}
