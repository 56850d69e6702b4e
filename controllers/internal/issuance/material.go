package issuance

import (
	"crypto"
	"crypto/x509"
	"time"
)

const (
	// MaxCertificateBytes is how long tls.crt and ca.crt are at most, each. cert-manager 1.21 takes chains of 95,000 bytes
	// (its package internal/pem).
	MaxCertificateBytes = 256 << 10
	// MaxKeyBytes is how long tls.key is at most. RSA keys of 8192 bits take 6.4 KiB of PEM, and reading the largest that fits
	// here takes some 20 ms.
	MaxKeyBytes = 16 << 10
	// MaxChain is how many certificates tls.crt has at most, as in cert-manager's package internal/pem.
	MaxChain = 10
	// MaxAuthorities is how many certificates ca.crt has at most. Issuers write one, or a few while a CA is replaced.
	MaxAuthorities = 20
	// MaxNames is how many subject alternative names a certificate has at most. Let's Encrypt issues up to 100; cert-manager
	// has seen 250.
	MaxNames = 256
	// MaxSerialBytes is how long a serial number is at most, after RFC 5280, section 4.1.2.2.
	MaxSerialBytes = 20
	// MinRSABits is how long RSA keys are at least, as in cert-manager.
	MinRSABits = 2048
	// MaxRSABits is how long they are at most, as in cert-manager. crypto/tls, too, verifies nothing longer.
	MaxRSABits = 8192
)

// Names of the keys in a kubernetes.io/tls Secret, for messages.
const (
	certificateFile = "tls.crt"
	keyFile         = "tls.key"
	authorityFile   = "ca.crt"
)

// Material is what an issuer issued, in PEM.
type Material struct {
	// Certificate is tls.crt: the certificate, then its intermediates, each signed by the next one. A self-signed CA may
	// be the last one.
	Certificate []byte
	// PrivateKey is tls.key: one key in PKCS#8, PKCS#1 or SEC 1, not encrypted.
	PrivateKey []byte
	// CA is ca.crt: the CAs, of which the chain has to lead to one. Some issuers, such as ACME, write none. If the CA is empty, the
	// last certificate of the chain stands in its place: a self-signed one shows that the chain is complete, and any other
	// one only that the chain fits together.
	CA []byte
}

// String keeps keys out of logs.
func (Material) String() string { return "[redacted]" }

// GoString keeps them out of %#v.
func (m Material) GoString() string { return m.String() }

// Parsed is a Material that was decoded. Nothing about it was verified.
type Parsed struct {
	// Chain is the certificate, then its intermediates. It is never empty.
	Chain []*x509.Certificate
	// Key is RSA, ECDSA or Ed25519.
	Key crypto.Signer
	// Authorities are the CAs; empty if there were none.
	Authorities []*x509.Certificate
}

// String keeps keys out of logs.
func (Parsed) String() string { return "[redacted]" }

// GoString keeps them out of %#v.
func (p Parsed) GoString() string { return p.String() }

// Issued is what may be told of a certificate. Nothing in it is secret.
type Issued struct {
	// Serial is the serial number, in hexadecimal.
	Serial string
	// Fingerprint is the SHA-256 of the certificate, in hexadecimal.
	Fingerprint string
	// NotBefore and NotAfter are between when the certificate is valid, both included.
	NotBefore, NotAfter time.Time
	// ChainNotAfter is when the first certificate of the chain expires, with the CA if that is known. It is never after
	// NotAfter.
	ChainNotAfter time.Time
	// CommonName of the certificate; empty if it has none.
	CommonName string
	// DNSNames, IPAddresses, URIs and EmailAddresses are the subject alternative names in normal form, sorted.
	DNSNames, IPAddresses, URIs, EmailAddresses []string
}

// Parse decodes a Material, and checks sizes and forms only. Its errors are *Problem.
func Parse(material Material) (Parsed, error) {
	parsed, problem := parse(material)
	if problem != nil {
		return Parsed{}, problem
	}
	return parsed, nil
}

func parse(material Material) (Parsed, *Problem) {
	chain, problem := parseCertificates(certificateFile, material.Certificate, MaxChain)
	if problem != nil {
		return Parsed{}, problem
	}
	key, problem := parseKey(material.PrivateKey)
	if problem != nil {
		return Parsed{}, problem
	}
	parsed := Parsed{Chain: chain, Key: key}
	if len(material.CA) == 0 {
		return parsed, nil
	}
	parsed.Authorities, problem = parseCertificates(authorityFile, material.CA, MaxAuthorities)
	return parsed, problem
}
