package pki

import (
	"crypto/x509"
	"encoding/pem"
	"net"
	"slices"
	"testing"
	"time"
)

func parse(t *testing.T, pair KeyPair) *x509.Certificate {
	t.Helper()
	block, _ := pem.Decode(pair.Certificate)
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return certificate
}

func TestCertificatesAreForTheirPurposeOnly(t *testing.T) {
	created, err := NewAuthority("fleet")
	if err != nil {
		t.Fatal(err)
	}
	authority, err := ParseAuthority(created.KeyPair)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority.Certificate)

	serving, err := authority.IssueServing([]string{"kubernetes"}, net.IPv4(10, 96, 0, 1))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"localhost", "127.0.0.1", "kubernetes", "10.96.0.1"} {
		if _, err := parse(t, serving).Verify(x509.VerifyOptions{Roots: roots, DNSName: name}); err != nil {
			t.Errorf("the serving certificate does not hold for %s: %v", name, err)
		}
	}

	client, err := authority.IssueClient("alice", []string{"ops"}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	certificate := parse(t, client)
	if certificate.Subject.CommonName != "alice" || !slices.Equal(certificate.Subject.Organization, []string{"ops"}) {
		t.Errorf("issued for %v, want alice in ops", certificate.Subject)
	}
	if left := time.Until(certificate.NotAfter); left > time.Hour || left < time.Hour-time.Minute {
		t.Errorf("valid for another %s, want an hour", left)
	}
	if _, err := certificate.Verify(x509.VerifyOptions{Roots: roots}); err == nil {
		t.Error("a client certificate passes for a server's")
	}
}

func TestIssueClientRefusesALifetimeThatIsOver(t *testing.T) {
	authority, err := NewAuthority("fleet")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := authority.IssueClient("alice", nil, 0); err == nil {
		t.Error("a certificate was issued that is never valid")
	}
}
