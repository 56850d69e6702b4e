package evidence

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
)

// A chain of hashes shows that nothing was changed since somebody noted its end. A signature shows, to whoever has the public
// key alone, that a document is from the manager. Signatures are those of Ed25519 (RFC 8032) over the bytes of the document, in
// base64.

// howToMakeAKey is the way out of a key that cannot be used.
const howToMakeAKey = "make one with openssl genpkey -algorithm ed25519, and its public key with openssl pkey -pubout"

// Signer signs documents.
type Signer struct{ key ed25519.PrivateKey }

// NewSigner reads a private key: a PEM block PRIVATE KEY with an Ed25519 key in PKCS #8.
func NewSigner(file []byte) (*Signer, error) {
	block, _ := pem.Decode(file)
	if block == nil || block.Type != "PRIVATE KEY" {
		return nil, errors.New("it is no private key in PEM: " + howToMakeAKey)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, errors.New("it is no private key in PKCS #8: " + howToMakeAKey) // What it is may be in the error.
	}
	key, ok := parsed.(ed25519.PrivateKey)
	if !ok {
		return nil, errors.New("it is no Ed25519 key: " + howToMakeAKey)
	}
	return &Signer{key: key}, nil
}

// String keeps the key out of logs.
func (s *Signer) String() string { return "[redacted]" }

// GoString keeps it out of %#v.
func (s *Signer) GoString() string { return s.String() }

// Sign returns the signature of the bytes of a document. It is the same each time.
func (s *Signer) Sign(content []byte) string {
	return base64.StdEncoding.EncodeToString(ed25519.Sign(s.key, content))
}

// PublicKey checks signatures.
type PublicKey struct{ key ed25519.PublicKey }

// ParsePublicKey reads a public key: a PEM block PUBLIC KEY with an Ed25519 key.
func ParsePublicKey(file []byte) (PublicKey, error) {
	block, _ := pem.Decode(file)
	if block == nil || block.Type != "PUBLIC KEY" {
		return PublicKey{}, errors.New("it is no public key in PEM: " + howToMakeAKey)
	}
	parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
	key, ok := parsed.(ed25519.PublicKey)
	if err != nil || !ok {
		return PublicKey{}, errors.New("it is no Ed25519 key: " + howToMakeAKey)
	}
	return PublicKey{key: key}, nil
}

// VerifySignature checks the signature of a file.
func (k PublicKey) VerifySignature(file File, signature []byte) error {
	raw, err := base64.StdEncoding.DecodeString(string(bytes.TrimSpace(signature)))
	if err != nil {
		return fmt.Errorf("the signature of %s is no base64", file.Name)
	}
	if !ed25519.Verify(k.key, file.Content, raw) {
		return fmt.Errorf("the signature of %s is not of this document and key: one of the three is another", file.Name)
	}
	return nil
}
