package issuance_test

import (
	"bytes"
	"crypto/elliptic"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"net"
	"net/url"
	"testing"
	"time"

	"github.com/daytwo-dev/daytwo/controllers/internal/issuance"
	"github.com/daytwo-dev/daytwo/controllers/internal/issuance/issuancetest"
)

func TestCheckRefusesAnotherCertificateThanWasAskedFor(t *testing.T) {
	for name, row := range map[string]struct {
		issued  issuancetest.Change
		request issuance.Request
		reason  string
	}{
		"a DNS name is missing":      {nil, issuance.Request{DNSNames: []string{host, "www.example.com"}}, issuance.ReasonNamesMissing},
		"an IP address is missing":   {nil, issuance.Request{DNSNames: []string{host}, IPAddresses: []string{"192.0.2.1"}}, issuance.ReasonNamesMissing},
		"a URI is missing":           {nil, issuance.Request{DNSNames: []string{host}, URIs: []string{"spiffe://example.com/shop"}}, issuance.ReasonNamesMissing},
		"an email is missing":        {nil, issuance.Request{DNSNames: []string{host}, EmailAddresses: []string{"ops@example.com"}}, issuance.ReasonNamesMissing},
		"the certificate of another": {nil, issuance.Request{DNSNames: []string{"bank.example.com"}}, issuance.ReasonNamesMissing},
		"a wildcard for the name":    {nil, issuance.Request{DNSNames: []string{"*.example.com"}}, issuance.ReasonNamesMissing},
		"a DNS name too many": {func(c *x509.Certificate) { c.DNSNames = append(c.DNSNames, "bank.example.com") },
			request(), issuance.ReasonNamesUnexpected},
		"a wildcard too many": {func(c *x509.Certificate) { c.DNSNames = append(c.DNSNames, "*.example.com") },
			request(), issuance.ReasonNamesUnexpected},
		"an IP address too many": {func(c *x509.Certificate) { c.IPAddresses = []net.IP{{192, 0, 2, 1}} },
			request(), issuance.ReasonNamesUnexpected},
		"a URI too many": {func(c *x509.Certificate) { c.URIs = []*url.URL{{Scheme: "spiffe", Host: "example.com"}} },
			request(), issuance.ReasonNamesUnexpected},
		"an email too many": {func(c *x509.Certificate) { c.EmailAddresses = []string{"ops@example.com"} },
			request(), issuance.ReasonNamesUnexpected},
		"an email of another person": {func(c *x509.Certificate) { c.EmailAddresses = []string{"OPS@example.com"} },
			issuance.Request{DNSNames: []string{host}, EmailAddresses: []string{"ops@example.com"}}, issuance.ReasonNamesMissing},
		"a name of a kind that crypto/x509 leaves out": {otherName(t), request(), issuance.ReasonNamesUnexpected},
		"another common name": {func(c *x509.Certificate) { c.Subject.CommonName = "bank" },
			request(), issuance.ReasonCommonNameDiffers},
		"a common name that nobody asked for": {func(c *x509.Certificate) { c.Subject.CommonName = "bank" },
			issuance.Request{DNSNames: []string{host}}, issuance.ReasonCommonNameDiffers},
		"no common name": {func(c *x509.Certificate) { c.Subject.CommonName = "" },
			issuance.Request{CommonName: "Shop", DNSNames: []string{host}}, issuance.ReasonCommonNameDiffers},
		"a usage is missing":           {nil, usage("key agreement"), issuance.ReasonUsageMissing},
		"an extended usage is missing": {nil, usage("client auth"), issuance.ReasonUsageMissing},
		"any usage is missing":         {nil, usage("any"), issuance.ReasonUsageMissing},
		"another algorithm":            {nil, issuance.Request{CommonName: host, Algorithm: "RSA"}, issuance.ReasonKeyAlgorithmDiffers},
		"another size":                 {nil, issuance.Request{CommonName: host, Algorithm: "ECDSA", Size: 384}, issuance.ReasonKeyAlgorithmDiffers},
		"another size of any kind":     {nil, issuance.Request{CommonName: host, Size: 384}, issuance.ReasonKeyAlgorithmDiffers},
		"a CA":                         {func(c *x509.Certificate) { c.IsCA = true }, request(), issuance.ReasonLeafIsCA},
		"no name was asked for":        {nil, issuance.Request{}, issuance.ReasonRequestInvalid},
		"too many names were":          {nil, issuance.Request{DNSNames: make([]string, issuance.MaxNames+1)}, issuance.ReasonRequestInvalid},
		"no IP address":                {nil, issuance.Request{IPAddresses: []string{"192.0.2.256"}}, issuance.ReasonRequestInvalid},
		"an IP address with a zone":    {nil, issuance.Request{IPAddresses: []string{"fe80::1%eth0"}}, issuance.ReasonRequestInvalid},
		"no URI":                       {nil, issuance.Request{URIs: []string{"shop"}}, issuance.ReasonRequestInvalid},
		"an unknown usage":             {nil, usage("serverAuth"), issuance.ReasonRequestInvalid},
		"an unknown algorithm":         {nil, issuance.Request{CommonName: host, Algorithm: "DSA"}, issuance.ReasonRequestInvalid},
		"the temporary certificate": {func(c *x509.Certificate) {
			c.Subject.SerialNumber = "1234567890"
		}, request(), issuance.ReasonTemporary},
	} {
		t.Run(name, func(t *testing.T) {
			authority := issuancetest.Root(t, "cert-manager.local")
			if row.issued == nil {
				row.issued = func(*x509.Certificate) {}
			}
			leaf := authority.Leaf(t, host, row.issued)
			_, err := issuance.Check(issuance.Material{Certificate: leaf.PEM(), PrivateKey: leaf.KeyPEM(t), CA: authority.PEM()}, row.request, now)
			expectProblem(t, err, row.reason, time.Time{})
		})
	}
}

func usage(text string) issuance.Request {
	return issuance.Request{CommonName: host, Usages: []string{text}}
}

// otherName adds a user principal name, with which Windows lets people log in.
func otherName(t *testing.T) issuancetest.Change {
	t.Helper()
	value, err := asn1.Marshal([]asn1.RawValue{
		{Class: asn1.ClassContextSpecific, Tag: 2, Bytes: []byte(host)},
		{Class: asn1.ClassContextSpecific, Tag: 0, IsCompound: true, Bytes: []byte{6, 3, 42, 3, 4, 0xa0, 4, 12, 2, 'm', 'e'}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return func(c *x509.Certificate) {
		c.ExtraExtensions = []pkix.Extension{{Id: asn1.ObjectIdentifier{2, 5, 29, 17}, Value: value}}
	}
}

func TestCheckRefusesChainsThatClientsRefuse(t *testing.T) {
	c := newChain(t)
	stranger := issuancetest.Root(t, "stranger")
	// A namesake has the name of a CA and another key.
	namesake := stranger.Intermediate(t, "lower")
	noCA := c.upper.Intermediate(t, "lower", func(c *x509.Certificate) { c.IsCA, c.KeyUsage = false, x509.KeyUsageDigitalSignature })
	noSigner := issuancetest.Root(t, "root", func(c *x509.Certificate) { c.KeyUsage = x509.KeyUsageCRLSign })
	one, two := issuancetest.Root(t, "one"), issuancetest.Root(t, "two")
	oneByTwo, twoByOne := two.Cross(t, one), one.Cross(t, two)
	looped := one.Leaf(t, host)
	for name, row := range map[string]struct {
		leaf             issuancetest.Certificate
		chain, authority []byte
		reason           string
	}{
		"intermediates first":               {c.leaf, c.lower.PEM(c.leaf), c.root.PEM(), issuance.ReasonLeafIsCA},
		"intermediates in another order":    {c.leaf, c.leaf.PEM(c.upper, c.lower), c.root.PEM(), issuance.ReasonChainOutOfOrder},
		"a stranger at the end":             {c.leaf, c.leaf.PEM(c.lower, c.upper, stranger), c.root.PEM(), issuance.ReasonChainForeign},
		"a stranger between":                {c.leaf, c.leaf.PEM(c.lower, stranger), c.upper.PEM(), issuance.ReasonChainForeign},
		"a stranger of the same name":       {c.leaf, c.leaf.PEM(namesake), c.root.PEM(), issuance.ReasonChainForeign},
		"a stranger before the next":        {c.leaf, c.leaf.PEM(stranger, c.lower), c.upper.PEM(), issuance.ReasonChainOutOfOrder},
		"a certificate twice":               {c.leaf, c.leaf.PEM(c.lower, c.upper, c.lower), c.root.PEM(), issuance.ReasonChainLoops},
		"two CAs that sign each other":      {looped, looped.PEM(oneByTwo, twoByOne), c.root.PEM(), issuance.ReasonChainLoops},
		"two such CAs without the CA":       {looped, looped.PEM(oneByTwo, twoByOne), nil, issuance.ReasonChainLoops},
		"an intermediate is missing":        {c.leaf, c.leaf.PEM(c.lower), c.root.PEM(), issuance.ReasonChainUntrusted},
		"another CA":                        {c.leaf, c.leaf.PEM(c.lower, c.upper), stranger.PEM(), issuance.ReasonChainUntrusted},
		"another CA of the same name":       {c.leaf, c.leaf.PEM(c.lower, c.upper), issuancetest.Root(t, "root").PEM(), issuance.ReasonChainUntrusted},
		"another CA than the chain's":       {c.leaf, c.leaf.PEM(c.lower, c.upper, c.root), stranger.PEM(), issuance.ReasonChainUntrusted},
		"a CA that is a certificate":        {c.leaf, c.leaf.PEM(c.lower, c.upper), stranger.Leaf(t, host).PEM(), issuance.ReasonNotCA},
		"a CA that is this certificate":     {c.leaf, c.leaf.PEM(c.lower, c.upper), c.leaf.PEM(), issuance.ReasonNotCA},
		"a CA that may not sign":            {noSigner.Leaf(t, host), nil, noSigner.PEM(), issuance.ReasonNotCA},
		"an intermediate that is no CA":     {noCA.Leaf(t, host), nil, c.upper.PEM(), issuance.ReasonNotCA},
		"signed with SHA-1":                 weak(t, x509.SHA1WithRSA),
		"signed with MD5":                   withMD5(t),
		"an intermediate signed with SHA-1": weakIntermediate(t),
		"an intermediate with a rare curve": rareCurve(t),
		"a CA with a rare curve":            rareAuthority(t),
		"a name that the CA may not give":   constrained(t, func(c *x509.Certificate) { c.PermittedDNSDomains = []string{"example.org"} }, issuance.ReasonChainInvalid),
		"more intermediates than allowed":   longPath(t),
		"a usage that the CA may not give": constrained(t, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} },
			issuance.ReasonUsageMissing),
		"an extension that nobody knows": unknownExtension(t),
	} {
		t.Run(name, func(t *testing.T) {
			if row.chain == nil {
				row.chain = row.leaf.PEM()
				if name == "an intermediate that is no CA" {
					row.chain = row.leaf.PEM(noCA)
				}
			}
			material := issuance.Material{Certificate: row.chain, PrivateKey: row.leaf.KeyPEM(t), CA: row.authority}
			_, err := issuance.Check(material, request(), now)
			expectProblem(t, err, row.reason, time.Time{})
		})
	}
}

// refused is a row of the table above.
type refused = struct {
	leaf             issuancetest.Certificate
	chain, authority []byte
	reason           string
}

func weak(t *testing.T, algorithm x509.SignatureAlgorithm) refused {
	root := issuancetest.Certificate{Key: newRSA(t, 2048)}
	root = root.SelfSign(t, "root")
	leaf := root.Leaf(t, host, func(c *x509.Certificate) { c.SignatureAlgorithm = algorithm })
	return refused{leaf, leaf.PEM(), root.PEM(), issuance.ReasonWeakSignature}
}

// withMD5 writes the algorithm into a certificate, since Go no longer signs with it.
func withMD5(t *testing.T) refused {
	row := weak(t, x509.SHA256WithRSA)
	rsaWith := []byte{0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1}
	row.chain = block("CERTIFICATE", bytes.ReplaceAll(row.leaf.Raw, append(bytes.Clone(rsaWith), 11), append(bytes.Clone(rsaWith), 4)))
	return row
}

func weakIntermediate(t *testing.T) refused {
	root := issuancetest.Certificate{Key: newRSA(t, 2048)}.SelfSign(t, "root")
	lower := root.Intermediate(t, "lower", func(c *x509.Certificate) { c.SignatureAlgorithm = x509.SHA1WithRSA })
	leaf := lower.Leaf(t, host)
	return refused{leaf, leaf.PEM(lower), root.PEM(), issuance.ReasonWeakSignature}
}

func rareCurve(t *testing.T) refused {
	root := issuancetest.Root(t, "root")
	lower := root.Cross(t, issuancetest.Certificate{Key: newECDSA(t, elliptic.P224())}.SelfSign(t, "lower"))
	leaf := lower.Leaf(t, host)
	return refused{leaf, leaf.PEM(lower), root.PEM(), issuance.ReasonKeyUnsupported}
}

func rareAuthority(t *testing.T) refused {
	root := issuancetest.Certificate{Key: newECDSA(t, elliptic.P224())}.SelfSign(t, "root")
	leaf := root.Leaf(t, host)
	return refused{leaf, leaf.PEM(), root.PEM(), issuance.ReasonKeyUnsupported}
}

func constrained(t *testing.T, change issuancetest.Change, reason string) refused {
	root := issuancetest.Root(t, "root")
	lower := root.Intermediate(t, "lower", change)
	leaf := lower.Leaf(t, host)
	return refused{leaf, leaf.PEM(lower), root.PEM(), reason}
}

func longPath(t *testing.T) refused {
	root := issuancetest.Root(t, "root", func(c *x509.Certificate) { c.MaxPathLenZero = true })
	lower := root.Intermediate(t, "lower")
	leaf := lower.Leaf(t, host)
	return refused{leaf, leaf.PEM(lower), root.PEM(), issuance.ReasonChainInvalid}
}

func unknownExtension(t *testing.T) refused {
	root := issuancetest.Root(t, "root")
	leaf := root.Leaf(t, host, func(c *x509.Certificate) {
		c.ExtraExtensions = []pkix.Extension{{Id: asn1.ObjectIdentifier{1, 2, 3, 4}, Critical: true, Value: []byte{5, 0}}}
	})
	return refused{leaf, leaf.PEM(), root.PEM(), issuance.ReasonChainInvalid}
}

func TestCheckPassesACAThatSignedItselfWithSHA1(t *testing.T) {
	root := issuancetest.Certificate{Key: newRSA(t, 2048)}.SelfSign(t, "root", func(c *x509.Certificate) { c.SignatureAlgorithm = x509.SHA1WithRSA })
	leaf := root.Leaf(t, host)
	for _, authority := range [][]byte{nil, root.PEM()} {
		material := issuance.Material{Certificate: leaf.PEM(root), PrivateKey: leaf.KeyPEM(t), CA: authority}
		if _, err := issuance.Check(material, request(), now); err != nil {
			t.Error(err)
		}
	}
}
