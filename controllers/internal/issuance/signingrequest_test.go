package issuance_test

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/daytwo-dev/daytwo/controllers/internal/issuance"
	"github.com/daytwo-dev/daytwo/controllers/internal/issuance/issuancetest"
)

// requestOf is a request in PEM for shop.example.com, as it is changed.
func requestOf(t testing.TB, key crypto.Signer, change func(*x509.CertificateRequest)) []byte {
	t.Helper()
	template := &x509.CertificateRequest{DNSNames: []string{host}}
	if change != nil {
		change(template)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, template, key)
	if err != nil {
		t.Fatal(err)
	}
	return requestPEM(der)
}

func requestPEM(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
}

func extension(t testing.TB, value any, id ...int) pkix.Extension {
	t.Helper()
	der, err := asn1.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return pkix.Extension{Id: id, Value: der}
}

func TestWhatARequestAsksForIsRead(t *testing.T) {
	key := issuancetest.NewKey(t)
	got, err := issuance.ReadRequest(requestOf(t, key, func(r *x509.CertificateRequest) {
		r.Subject.CommonName = "shop"
		r.DNSNames = []string{"WWW.example.com", host}
		r.IPAddresses = []net.IP{net.ParseIP("10.0.0.1")}
		r.URIs = []*url.URL{{Scheme: "spiffe", Host: "Example.com", Path: "/ns/a"}}
		r.EmailAddresses = []string{"Ada@Example.com"}
		r.ExtraExtensions = []pkix.Extension{
			extension(t, asn1.BitString{Bytes: []byte{0xa0}, BitLength: 3}, 2, 5, 29, 15),
			extension(t, []asn1.ObjectIdentifier{{1, 3, 6, 1, 5, 5, 7, 3, 1}}, 2, 5, 29, 37),
			extension(t, struct {
				IsCA bool `asn1:"optional"`
			}{}, 2, 5, 29, 19),
		}
	}))
	if err != nil {
		t.Fatal(err)
	}
	for what, lists := range map[string][2][]string{
		"DNS names": {got.DNSNames, {host, "www.example.com"}}, "addresses": {got.IPAddresses, {"10.0.0.1"}},
		"URIs": {got.URIs, {"spiffe://example.com/ns/a"}}, "email addresses": {got.EmailAddresses, {"Ada@example.com"}},
		"usages": {got.Usages, {"digital signature", "key encipherment", "server auth"}},
	} {
		if !slices.Equal(lists[0], lists[1]) {
			t.Errorf("the %s are %v, not %v", what, lists[0], lists[1])
		}
	}
	if got.CommonName != "shop" || got.Algorithm != issuance.AlgorithmECDSA || got.Size != 256 || !key.PublicKey.Equal(got.Public) {
		t.Errorf("got %+v", got)
	}
}

func TestRequestsThatAreRefused(t *testing.T) {
	key := issuancetest.NewKey(t)
	good := requestOf(t, key, nil)
	small, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	curve, err := ecdsa.GenerateKey(elliptic.P224(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	with := func(extensions ...pkix.Extension) []byte {
		return requestOf(t, key, func(r *x509.CertificateRequest) { r.ExtraExtensions = extensions })
	}
	named := func(subject pkix.Name) []byte {
		return requestOf(t, key, func(r *x509.CertificateRequest) { r.Subject = subject })
	}
	for name, row := range map[string]struct {
		pem    []byte
		reason string
	}{
		"nothing":                       {nil, issuance.ReasonNotPEM},
		"no PEM":                        {[]byte("hello"), issuance.ReasonNotPEM},
		"two requests":                  {slices.Concat(good, good), issuance.ReasonNotPEM},
		"text before it":                {slices.Concat([]byte("subject=shop\n"), good), issuance.ReasonNotPEM},
		"text behind it":                {slices.Concat(good, []byte("more")), issuance.ReasonNotPEM},
		"a block that is cut off":       {good[:len(good)/2], issuance.ReasonNotPEM},
		"a certificate":                 {issuancetest.Root(t, "root").PEM(), issuance.ReasonUnexpectedBlock},
		"something else inside":         {requestPEM([]byte("hello")), issuance.ReasonRequestUnreadable},
		"something behind it inside":    {requestPEM(append(decoded(t, good), 0)), issuance.ReasonRequestUnreadable},
		"1 MiB":                         {bytes.Repeat([]byte("x"), 1<<20), issuance.ReasonTooLarge},
		"10,000 names":                  {requestOf(t, key, func(r *x509.CertificateRequest) { r.DNSNames = namesBeyond(10_000) }), issuance.ReasonTooLarge},
		"300 names":                     {requestOf(t, key, func(r *x509.CertificateRequest) { r.DNSNames = namesBeyond(300) }), issuance.ReasonTooLarge},
		"a signature of another key":    {forged(t, good), issuance.ReasonRequestUnreadable},
		"an RSA key of 1024 bits":       {requestOf(t, small, nil), issuance.ReasonKeyUnsupported},
		"a key on P-224":                {requestOf(t, curve, nil), issuance.ReasonKeyUnsupported},
		"SHA-1":                         {weaklySigned(t, good), issuance.ReasonWeakSignature},
		"an organization":               {named(pkix.Name{CommonName: "shop", Organization: []string{"system:masters"}}), issuance.ReasonSubjectRefused},
		"two common names":              {named(pkix.Name{ExtraNames: []pkix.AttributeTypeAndValue{{Type: asn1.ObjectIdentifier{2, 5, 4, 3}, Value: "a"}, {Type: asn1.ObjectIdentifier{2, 5, 4, 3}, Value: "b"}}}), issuance.ReasonSubjectRefused},
		"a CA":                          {with(extension(t, struct{ IsCA bool }{true}, 2, 5, 29, 19)), issuance.ReasonCARequested},
		"a CA by its path length":       {with(extension(t, struct{ MaxPathLen int }{0}, 2, 5, 29, 19)), issuance.ReasonCARequested},
		"name constraints":              {with(extension(t, []string{}, 2, 5, 29, 30)), issuance.ReasonExtensionRefused},
		"an unknown extension":          {with(extension(t, "x", 1, 3, 6, 1, 4, 1, 99999, 1)), issuance.ReasonExtensionRefused},
		"an unknown extended usage":     {with(extension(t, []asn1.ObjectIdentifier{{1, 3, 6, 1, 5, 5, 7, 3, 9}}, 2, 5, 29, 37)), issuance.ReasonExtensionRefused},
		"usages that cannot be read":    {with(extension(t, "x", 2, 5, 29, 15)), issuance.ReasonExtensionRefused},
		"a name of a kind that is rare": {with(registeredID(t)), issuance.ReasonNamesUnexpected},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := issuance.ReadRequest(row.pem)
			expectProblem(t, err, row.reason, time.Time{})
		})
	}
}

func decoded(t testing.TB, text []byte) []byte {
	t.Helper()
	block, _ := pem.Decode(text)
	if block == nil {
		t.Fatal("no PEM")
	}
	return slices.Clone(block.Bytes)
}

func namesBeyond(count int) (names []string) {
	for i := range count {
		names = append(names, fmt.Sprintf("n%d.example.com", i))
	}
	return names
}

// forged changes a name in a request that was signed.
func forged(t testing.TB, text []byte) []byte {
	return requestPEM(bytes.Replace(decoded(t, text), []byte(host), []byte(strings.Replace(host, "shop", "evil", 1)), 1))
}

// weaklySigned says that ECDSA with SHA-1 was used.
func weaklySigned(t testing.TB, text []byte) []byte {
	strong, err := asn1.Marshal(asn1.ObjectIdentifier{1, 2, 840, 10045, 4, 3, 2})
	if err != nil {
		t.Fatal(err)
	}
	der := decoded(t, text)
	at := bytes.LastIndex(der, strong)
	// Ids of ecdsa-with-SHA256 and ecdsa-with-SHA1 differ in length, so another weak one of the same length is taken.
	copy(der[at:], []byte{0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x01})
	return requestPEM(der)
}

// registeredID is a subject alternative name of the kind that holds anything.
func registeredID(t testing.TB) pkix.Extension {
	t.Helper()
	return extension(t, []asn1.RawValue{
		{Class: asn1.ClassContextSpecific, Tag: 2, Bytes: []byte(host)},
		{Class: asn1.ClassContextSpecific, Tag: 8, Bytes: []byte{42}},
	}, 2, 5, 29, 17)
}

func TestACertificateForAKeyThatIsSomewhereElse(t *testing.T) {
	root := issuancetest.Root(t, "root")
	key, other := issuancetest.NewKey(t), issuancetest.NewKey(t)
	asked := issuance.Request{DNSNames: []string{host}, Usages: []string{"digital signature", "server auth"}}
	for name, row := range map[string]struct {
		leaf   issuancetest.Certificate
		public crypto.PublicKey
		asked  issuance.Request
		reason string
	}{
		"is passed":               {leaf: root.LeafFor(t, host, key), public: key.Public(), asked: asked},
		"is for that key":         {leaf: root.LeafFor(t, host, other), public: key.Public(), asked: asked, reason: issuance.ReasonKeyMismatch},
		"is for those names":      {leaf: root.LeafFor(t, "evil.example.com", key), public: key.Public(), asked: asked, reason: issuance.ReasonNamesMissing},
		"is for no CA":            {leaf: root.LeafFor(t, host, key, func(c *x509.Certificate) { c.IsCA, c.BasicConstraintsValid = true, true }), public: key.Public(), asked: asked, reason: issuance.ReasonLeafIsCA},
		"is valid now":            {leaf: root.LeafFor(t, host, key, issuancetest.Valid(-2*time.Hour, -time.Hour)), public: key.Public(), asked: asked, reason: issuance.ReasonExpired},
		"has the usages":          {leaf: root.LeafFor(t, host, key), public: key.Public(), asked: issuance.Request{DNSNames: []string{host}, Usages: []string{"client auth"}}, reason: issuance.ReasonUsageMissing},
		"comes from the CA":       {leaf: issuancetest.Root(t, "root").LeafFor(t, host, key), public: key.Public(), asked: asked, reason: issuance.ReasonChainUntrusted},
		"is for a key at all":     {leaf: root.LeafFor(t, host, key), public: nil, asked: asked, reason: issuance.ReasonKeyMismatch},
		"is for the kind of keys": {leaf: root.LeafFor(t, host, key), public: ed25519.PublicKey(make([]byte, 32)), asked: asked, reason: issuance.ReasonKeyMismatch},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := issuance.CheckSigned(issuance.Signed{Certificate: row.leaf.PEM(), CA: root.PEM(), Public: row.public}, row.asked, now)
			if row.reason == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			expectProblem(t, err, row.reason, time.Time{})
		})
	}
}

func FuzzRequestsAreReadOrRefused(f *testing.F) {
	f.Add(requestOf(f, issuancetest.NewKey(f), nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		if got, err := issuance.ReadRequest(data); err == nil && (got.Public == nil || got.Algorithm == "") {
			t.Errorf("it is taken without a key: %+v", got)
		}
	})
}
