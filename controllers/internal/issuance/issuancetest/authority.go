// Package issuancetest issues certificates for tests, right and wrong ones. Keys are ECDSA P-256 unless a test says otherwise.
package issuancetest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"slices"
	"testing"
	"time"
)

// Now is when certificates of this package are valid, in the middle of their time.
var Now = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

// Lifetime is how long certificates of this package are valid before and after Now.
const Lifetime = 30 * 24 * time.Hour

// Change is what a test makes different about a certificate.
type Change func(*x509.Certificate)

// Certificate is a certificate with its key. It may be that of a CA.
type Certificate struct {
	*x509.Certificate
	Key crypto.Signer
}

// NewKey returns a new key.
func NewKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// Root returns a self-signed CA of that name.
func Root(t testing.TB, name string, changes ...Change) Certificate {
	t.Helper()
	key := NewKey(t)
	return sign(t, authorityTemplate(name), nil, key, key, changes)
}

// SelfSign returns a self-signed CA of that name, for a key that the test has.
func (c Certificate) SelfSign(t testing.TB, name string, changes ...Change) Certificate {
	t.Helper()
	return sign(t, authorityTemplate(name), nil, c.Key, c.Key, changes)
}

// SelfSigned returns a certificate that signed itself and is no CA.
func SelfSigned(t testing.TB, name string, changes ...Change) Certificate {
	t.Helper()
	key := NewKey(t)
	return sign(t, leafTemplate(name), nil, key, key, changes)
}

// Intermediate returns a CA that this one signed.
func (c Certificate) Intermediate(t testing.TB, name string, changes ...Change) Certificate {
	t.Helper()
	return c.Sign(t, authorityTemplate(name), NewKey(t), changes...)
}

// Cross returns a certificate for the name and key of another CA, signed by this one.
func (c Certificate) Cross(t testing.TB, other Certificate) Certificate {
	t.Helper()
	return c.Sign(t, authorityTemplate(other.Subject.CommonName), other.Key)
}

// Leaf returns a certificate for a DNS name, for servers.
func (c Certificate) Leaf(t testing.TB, name string, changes ...Change) Certificate {
	t.Helper()
	return c.Sign(t, leafTemplate(name), NewKey(t), changes...)
}

// LeafFor is Leaf with a key that the test has.
func (c Certificate) LeafFor(t testing.TB, name string, key crypto.Signer, changes ...Change) Certificate {
	t.Helper()
	return c.Sign(t, leafTemplate(name), key, changes...)
}

// Sign returns a certificate by this CA.
func (c Certificate) Sign(t testing.TB, template *x509.Certificate, key crypto.Signer, changes ...Change) Certificate {
	t.Helper()
	return sign(t, template, c.Certificate, key, c.Key, changes)
}

// PEM returns this certificate and others as text, in this order.
func (c Certificate) PEM(others ...Certificate) []byte {
	var text []byte
	for _, certificate := range slices.Concat([]Certificate{c}, others) {
		text = append(text, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Raw})...)
	}
	return text
}

// KeyPEM returns the key in PKCS#8.
func (c Certificate) KeyPEM(t testing.TB) []byte {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(c.Key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

// Valid changes when a certificate is valid, relative to Now.
func Valid(from, until time.Duration) Change {
	return func(c *x509.Certificate) { c.NotBefore, c.NotAfter = Now.Add(from), Now.Add(until) }
}

func authorityTemplate(name string) *x509.Certificate {
	return &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
}

func leafTemplate(name string) *x509.Certificate {
	return &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
}

func sign(t testing.TB, template, parent *x509.Certificate, key, signer crypto.Signer, changes []Change) Certificate {
	t.Helper()
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		t.Fatal(err)
	}
	template.SerialNumber = serial
	template.NotBefore, template.NotAfter = Now.Add(-Lifetime), Now.Add(Lifetime)
	for _, change := range changes {
		change(template)
	}
	if parent == nil {
		parent = template
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return Certificate{Certificate: certificate, Key: key}
}
