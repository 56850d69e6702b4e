package registry

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"time"
)

// lifetime is longer than any test.
const lifetime = 24 * time.Hour

// certificate is a server's, with the authority that issued it.
type certificate struct {
	pair tls.Certificate
	// authority is PEM.
	authority []byte
}

// issueCertificate makes an authority, and a certificate of it for the loopback address.
func issueCertificate(now time.Time) (certificate, error) {
	authorityKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return certificate{}, err
	}
	authority := template(now, 1, "chart registry's authority")
	authority.IsCA, authority.BasicConstraintsValid = true, true
	authority.KeyUsage = x509.KeyUsageCertSign
	authorityBytes, err := x509.CreateCertificate(rand.Reader, authority, authority, authorityKey.Public(), authorityKey)
	if err != nil {
		return certificate{}, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return certificate{}, err
	}
	server := template(now, 2, "chart registry")
	server.KeyUsage = x509.KeyUsageDigitalSignature
	server.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	server.IPAddresses, server.DNSNames = []net.IP{net.IPv4(127, 0, 0, 1)}, []string{"localhost"}
	serverBytes, err := x509.CreateCertificate(rand.Reader, server, authority, key.Public(), authorityKey)
	if err != nil {
		return certificate{}, err
	}
	return certificate{
		pair:      tls.Certificate{Certificate: [][]byte{serverBytes}, PrivateKey: key},
		authority: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: authorityBytes}),
	}, nil
}

func template(now time.Time, serial int64, name string) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(serial),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    now.Add(-time.Minute), // Clocks of clients may be behind.
		NotAfter:     now.Add(lifetime),
	}
}
