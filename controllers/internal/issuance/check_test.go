package issuance_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"net"
	"net/url"
	"reflect"
	"testing"
	"time"

	"github.com/daytwo-dev/daytwo/controllers/internal/issuance"
	"github.com/daytwo-dev/daytwo/controllers/internal/issuance/issuancetest"
)

func TestCheckTellsWhatWasIssued(t *testing.T) {
	c := newChain(t, func(c *x509.Certificate) {
		c.DNSNames = []string{"WWW.example.com.", host}
		c.IPAddresses = []net.IP{net.ParseIP("192.0.2.1"), net.ParseIP("2001:db8::1")}
		c.URIs = []*url.URL{{Scheme: "spiffe", Host: "Example.com", Path: "/shop"}}
		c.EmailAddresses = []string{"Ops@Example.com"}
	})
	got, err := issuance.Check(c.material(t), issuance.Request{
		CommonName: host, DNSNames: []string{"www.EXAMPLE.com"}, IPAddresses: []string{"::ffff:192.0.2.1", "2001:DB8:0::1"},
		URIs: []string{"SPIFFE://example.com/shop"}, EmailAddresses: []string{"Ops@example.com"},
	}, now)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(c.leaf.Raw)
	want := issuance.Issued{
		Serial: c.leaf.SerialNumber.Text(16), Fingerprint: hex.EncodeToString(sum[:]),
		NotBefore: c.leaf.NotBefore, NotAfter: c.leaf.NotAfter, ChainNotAfter: c.leaf.NotAfter, CommonName: host,
		DNSNames: []string{host, "www.example.com"}, IPAddresses: []string{"192.0.2.1", "2001:db8::1"},
		URIs: []string{"spiffe://example.com/shop"}, EmailAddresses: []string{"Ops@example.com"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestCheckTellsWhenTheChainExpiresBeforeTheCertificate(t *testing.T) {
	root := issuancetest.Root(t, "root", issuancetest.Valid(-time.Hour, time.Hour))
	leaf := root.Leaf(t, host)
	got, err := issuance.Check(issuance.Material{Certificate: leaf.PEM(), PrivateKey: leaf.KeyPEM(t), CA: root.PEM()}, request(), now)
	if err != nil {
		t.Fatal(err)
	}
	if !got.ChainNotAfter.Equal(root.NotAfter) || !got.NotAfter.Equal(leaf.NotAfter) {
		t.Errorf("got %v and %v, want %v and %v", got.ChainNotAfter, got.NotAfter, root.NotAfter, leaf.NotAfter)
	}
}

func TestCheckPassesWhatIssuersWrite(t *testing.T) {
	c := newChain(t)
	other := issuancetest.Root(t, "root")
	self := issuancetest.SelfSigned(t, host)
	wildcard := newChain(t, func(c *x509.Certificate) { c.Subject.CommonName, c.DNSNames = "", []string{"*.example.com"} })
	acme := newChain(t, func(c *x509.Certificate) { c.Subject.CommonName = "" })
	plain := newChain(t, func(c *x509.Certificate) { c.KeyUsage, c.ExtKeyUsage = 0, nil })
	for name, row := range map[string]struct {
		chain, authority []byte
		leaf             issuancetest.Certificate
		request          issuance.Request
	}{
		"without the CA":                                    {c.leaf.PEM(c.lower, c.upper), nil, c.leaf, request()},
		"without the CA and any intermediate":               {c.leaf.PEM(), nil, c.leaf, request()},
		"with the CA in the chain and alone":                {c.leaf.PEM(c.lower, c.upper, c.root), nil, c.leaf, request()},
		"with the CA in the chain and beside it":            {c.leaf.PEM(c.lower, c.upper, c.root), c.root.PEM(), c.leaf, request()},
		"with an intermediate as the CA":                    {c.leaf.PEM(c.lower), c.upper.PEM(), c.leaf, request()},
		"with the CA beside one of the same name":           {c.leaf.PEM(c.lower, c.upper), other.PEM(c.root), c.leaf, request()},
		"self-signed":                                       {self.PEM(), self.PEM(), self, request()},
		"self-signed without the CA":                        {self.PEM(), nil, self, request()},
		"a wildcard":                                        {wildcard.leaf.PEM(wildcard.lower, wildcard.upper), wildcard.root.PEM(), wildcard.leaf, issuance.Request{DNSNames: []string{"*.Example.com"}}},
		"a common name that ACME left among the others":     {acme.leaf.PEM(acme.lower, acme.upper), nil, acme.leaf, request()},
		"a common name that ACME chose among the others":    {c.leaf.PEM(c.lower), nil, c.leaf, issuance.Request{DNSNames: []string{host}}},
		"a common name that is repeated among the others":   {c.leaf.PEM(c.lower), nil, c.leaf, issuance.Request{CommonName: host}},
		"key encipherment left out for ECDSA":               {c.leaf.PEM(c.lower), nil, c.leaf, issuance.Request{DNSNames: []string{host}, Usages: []string{"key encipherment"}}},
		"no usages, which permits all":                      {plain.leaf.PEM(plain.lower), nil, plain.leaf, issuance.Request{DNSNames: []string{host}, Usages: []string{"client auth", "digital signature"}}},
		"blank lines and carriage returns between the PEMs": {append([]byte("\r\n"), c.leaf.PEM()...), append(c.lower.PEM(), "\n\r\n"...), c.leaf, request()},
	} {
		t.Run(name, func(t *testing.T) {
			material := issuance.Material{Certificate: row.chain, PrivateKey: row.leaf.KeyPEM(t), CA: row.authority}
			if _, err := issuance.Check(material, row.request, now); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestCheckPassesKeysOfAllKindsThatAreSupported(t *testing.T) {
	root := issuancetest.Root(t, "root")
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for name, row := range map[string]struct {
		key       crypto.Signer
		algorithm string
		size      int
	}{
		"RSA":        {newRSA(t, 2048), "RSA", 2048},
		"P-256":      {newECDSA(t, elliptic.P256()), "ECDSA", 256},
		"P-384":      {newECDSA(t, elliptic.P384()), "ECDSA", 384},
		"P-521":      {newECDSA(t, elliptic.P521()), "ECDSA", 521},
		"Ed25519":    {edwards, "Ed25519", 0},
		"any at all": {edwards, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			leaf := root.LeafFor(t, host, row.key)
			asked := request()
			asked.Algorithm, asked.Size = row.algorithm, row.size
			for form, text := range keyForms(t, row.key) {
				if _, err := issuance.Check(issuance.Material{Certificate: leaf.PEM(), PrivateKey: text, CA: root.PEM()}, asked, now); err != nil {
					t.Errorf("%s: %v", form, err)
				}
			}
		})
	}
}

// keyForms writes a key in each form that it has.
func keyForms(t *testing.T, key crypto.Signer) map[string][]byte {
	t.Helper()
	forms := map[string][]byte{"PKCS#8": issuancetest.Certificate{Key: key}.KeyPEM(t)}
	switch key := key.(type) {
	case *rsa.PrivateKey:
		forms["PKCS#1"] = block("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(key))
	case *ecdsa.PrivateKey:
		der, err := x509.MarshalECPrivateKey(key)
		if err != nil {
			t.Fatal(err)
		}
		forms["SEC 1"] = block("EC PRIVATE KEY", der)
	}
	return forms
}

func newRSA(t testing.TB, bits int) *rsa.PrivateKey {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func newECDSA(t testing.TB, curve elliptic.Curve) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}
