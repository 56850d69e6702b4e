package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"sync/atomic"
	"testing"
	"time"
)

// selfSigned is a certificate for a name, which is its own authority.
func selfSigned(t *testing.T, name string) *tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{name}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

func TestARenewalSucceedsOnlyIfEveryHandshakeDoes(t *testing.T) {
	const name = "shop.example.com"
	first, next := selfSigned(t, name), selfSigned(t, name)
	trusted := x509.NewCertPool()
	trusted.AddCert(first.Leaf)
	trusted.AddCert(next.Leaf)
	tests := map[string]struct {
		renewed *tls.Certificate
		passes  bool
	}{
		"renewed":                 {next, true},
		"of an unknown authority": {selfSigned(t, name), false},
		"for another name":        {selfSigned(t, "other.example.com"), false},
	}
	for what, test := range tests {
		t.Run(what, func(t *testing.T) {
			var shown atomic.Int32
			server, err := serveTLS(t.Context(), func(context.Context) (*tls.Certificate, error) {
				if shown.Add(1) > 3 {
					return test.renewed, nil
				}
				return first, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			client := tlsClient{address: server.Addr(), config: &tls.Config{RootCAs: trusted, ServerName: name}}
			open, err := client.connect(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			handshakes, err := client.awaitOther(t.Context(), open.certificate())
			if (err == nil) != test.passes {
				t.Errorf("passes: %v, want %v (%v)", err == nil, test.passes, err)
			}
			if want := 3; test.passes && handshakes != want {
				t.Errorf("%d handshakes, want %d", handshakes, want)
			}
			if err := open.echo(); err != nil {
				t.Errorf("the connection from before: %v", err)
			}
			if err := open.Close(); err != nil {
				t.Error(err)
			}
			if err := server.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
