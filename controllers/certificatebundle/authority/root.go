package authority

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"time"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
)

const (
	// defaultDuration is that of the API.
	defaultDuration = 87600 * time.Hour
	// clockSkew is how far the clocks of clusters may be behind.
	clockSkew = 5 * time.Minute
	// rsaBits is the size of RSA keys, which outlive those of leaves by years.
	rsaBits = 4096
	// serialBits are as many as RFC 5280, section 4.1.2.2, allows, without the sign.
	serialBits = 159
)

// Root is the certificate of an authority.
type Root struct {
	Generation int64
	// PEM of the certificate.
	PEM string
	// Anchor is the SHA-256 of the certificate in DER form, in hexadecimal.
	Anchor string
	// NotBefore and NotAfter are between when it is valid.
	NotBefore, NotAfter time.Time
}

// newRoot makes an authority, and returns its certificate and its key in PEM.
func newRoot(wanted *certificatesv1alpha1.ManagedAuthority, commonName string, now time.Time) (certificate, key []byte, err error) {
	private, err := newKey(wanted.Algorithm)
	if err != nil {
		return nil, nil, fmt.Errorf("make the key of an authority: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), serialBits))
	if err != nil {
		return nil, nil, fmt.Errorf("make the serial number of an authority: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: commonName},
		NotBefore: now.Add(-clockSkew), NotAfter: now.Add(DurationOf(wanted)),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		return nil, nil, fmt.Errorf("sign an authority: %w", err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, nil, fmt.Errorf("encode the key of an authority: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}), nil
}

// DurationOf is for how long a generation is valid.
func DurationOf(wanted *certificatesv1alpha1.ManagedAuthority) time.Duration {
	if wanted.Duration != nil {
		return wanted.Duration.Duration
	}
	return defaultDuration
}

func newKey(algorithm string) (crypto.Signer, error) {
	if algorithm == "RSA" {
		return rsa.GenerateKey(rand.Reader, rsaBits)
	}
	return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
}

// parseRoot reads the certificate of an authority: one certificate, and nothing else.
func parseRoot(generation int64, text []byte) (Root, error) {
	block, rest := pem.Decode(text)
	if block == nil || block.Type != "CERTIFICATE" || len(rest) > 0 {
		return Root{}, errors.New("tls.crt is not one certificate in PEM")
	}
	parsed, err := x509.ParseCertificate(block.Bytes)
	switch {
	case err != nil:
		return Root{}, fmt.Errorf("tls.crt: %w", err)
	case !parsed.IsCA:
		return Root{}, errors.New("tls.crt is no authority")
	}
	return Root{
		Generation: generation, PEM: string(pem.EncodeToMemory(block)), Anchor: AnchorOf(block.Bytes), NotBefore: parsed.NotBefore, NotAfter: parsed.NotAfter,
	}, nil
}

// AnchorOf is what a certificate is known by: the SHA-256 of its DER form, in hexadecimal.
func AnchorOf(der []byte) string {
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:])
}

// ErrOther is that a certificate is from another authority than the bundle's.
var ErrOther = errors.New("another authority than the bundle's own issued it, since somebody changed the Issuer: Daytwo restores the Issuer, and has the certificate issued again within some minutes")

// Check returns ErrOther unless what an issuer told as its authority is the one with the anchor, and no other.
func Check(told []byte, anchor string) error {
	block, rest := pem.Decode(told)
	if block == nil || len(bytes.TrimSpace(rest)) > 0 || AnchorOf(block.Bytes) != anchor {
		return ErrOther
	}
	return nil
}
