// Package pki issues the certificates and keys that a local fleet's programs
// authenticate with. Everything is ECDSA P-256: quick to make, and understood by
// all of them.
package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"time"
)

// A fleet is thrown away long before.
const authorityLifetime = 10 * 365 * 24 * time.Hour

// Certificates are valid a little earlier, for clocks in virtual machines that
// jump when the machine wakes up.
const backdated = 5 * time.Minute

// KeyPair is a certificate and its private key, both in PEM.
type KeyPair struct {
	Certificate []byte
	Key         []byte
}

// Authority is a certificate authority.
type Authority struct {
	KeyPair
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// NewAuthority creates an authority of that common name.
func NewAuthority(name string) (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: name},
		NotBefore:             time.Now().Add(-backdated),
		NotAfter:              time.Now().Add(authorityLifetime),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	pair, err := sign(template, template, key, key)
	if err != nil {
		return nil, err
	}
	return ParseAuthority(pair)
}

// ParseAuthority returns the authority that was saved as pair.
func ParseAuthority(pair KeyPair) (*Authority, error) {
	certificateBlock, _ := pem.Decode(pair.Certificate)
	keyBlock, _ := pem.Decode(pair.Key)
	if certificateBlock == nil || keyBlock == nil {
		return nil, errors.New("a certificate authority's file is not PEM")
	}
	certificate, err := x509.ParseCertificate(certificateBlock.Bytes)
	if err != nil {
		return nil, err
	}
	key, err := x509.ParseECPrivateKey(keyBlock.Bytes)
	if err != nil {
		return nil, err
	}
	return &Authority{KeyPair: pair, certificate: certificate, key: key}, nil
}

// IssueServing returns a certificate for a server on the loopback address,
// which may also be called by the given names and addresses. Servers such as
// etcd also present it as clients, to themselves.
func (a *Authority) IssueServing(names []string, addresses ...net.IP) (KeyPair, error) {
	return a.issue(&x509.Certificate{
		Subject:     pkix.Name{CommonName: "localhost"},
		DNSNames:    append([]string{"localhost"}, names...),
		IPAddresses: append([]net.IP{net.IPv4(127, 0, 0, 1)}, addresses...),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		NotAfter:    a.certificate.NotAfter,
	})
}

// IssueClient returns a client certificate that an API server takes for user,
// in groups, until ttl has passed.
func (a *Authority) IssueClient(user string, groups []string, ttl time.Duration) (KeyPair, error) {
	if ttl <= 0 {
		return KeyPair{}, fmt.Errorf("certificate for %s: its lifetime must be positive, not %s", user, ttl)
	}
	return a.issue(&x509.Certificate{
		Subject:     pkix.Name{CommonName: user, Organization: groups},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		NotAfter:    time.Now().Add(ttl),
	})
}

func (a *Authority) issue(template *x509.Certificate) (KeyPair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return KeyPair{}, err
	}
	template.NotBefore = time.Now().Add(-backdated)
	template.KeyUsage = x509.KeyUsageDigitalSignature
	return sign(template, a.certificate, key, a.key)
}

// NewKey returns a private key in PEM, for signing service account tokens.
func NewKey() ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	return encodeKey(key)
}

func sign(template, parent *x509.Certificate, key, signer *ecdsa.PrivateKey) (KeyPair, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		return KeyPair{}, fmt.Errorf("create certificate for %s: %w", template.Subject.CommonName, err)
	}
	keyPEM, err := encodeKey(key)
	if err != nil {
		return KeyPair{}, err
	}
	return KeyPair{
		Certificate: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		Key:         keyPEM,
	}, nil
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}
