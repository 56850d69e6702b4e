package issuance_test

import (
	"bytes"
	"crypto/ecdh"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/daytwo-dev/daytwo/controllers/internal/issuance"
	"github.com/daytwo-dev/daytwo/controllers/internal/issuance/issuancetest"
)

func block(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

func TestCheckRefusesTextsThatAreNoCertificates(t *testing.T) {
	c := newChain(t)
	good := c.material(t)
	whole := c.leaf.PEM()
	headers := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Headers: map[string]string{"Owner": "shop"}, Bytes: c.leaf.Raw})
	for name, row := range map[string]struct {
		text   []byte
		reason string
	}{
		"empty":                              {nil, issuance.ReasonMissing},
		"blank":                              {[]byte(" \n\n"), issuance.ReasonMissing},
		"no PEM":                             {[]byte("not a certificate"), issuance.ReasonNotPEM},
		"DER":                                {c.leaf.Raw, issuance.ReasonNotPEM},
		"text before":                        {join([]byte("subject=shop\n"), whole), issuance.ReasonNotPEM},
		"text between":                       {join(whole, []byte("issuer=ca\n"), c.lower.PEM()), issuance.ReasonNotPEM},
		"text after":                         {join(whole, []byte("done")), issuance.ReasonNotPEM},
		"cut off":                            {whole[:len(whole)-10], issuance.ReasonNotPEM},
		"a broken block before a whole one":  {join([]byte("-----BEGIN CERTIFICATE-----\n!\n"), whole), issuance.ReasonNotPEM},
		"a broken block after a whole one":   {join(whole, []byte("-----BEGIN CERTIFICATE-----\nAAAA\n")), issuance.ReasonNotPEM},
		"a block that begins in a line":      {join([]byte("x "), whole), issuance.ReasonNotPEM},
		"a private key after it":             {join(whole, c.leaf.KeyPEM(t)), issuance.ReasonPrivateKeyExposed},
		"an encrypted private key before it": {join(block("ENCRYPTED PRIVATE KEY", []byte{1}), whole), issuance.ReasonPrivateKeyExposed},
		"a request":                          {join(whole, block("CERTIFICATE REQUEST", c.leaf.Raw)), issuance.ReasonUnexpectedBlock},
		"a block type with a line's worth":   {block(strings.Repeat("Ä", 5000), c.leaf.Raw), issuance.ReasonUnexpectedBlock},
		"headers":                            {headers, issuance.ReasonUnexpectedBlock},
		"a block without content":            {block("CERTIFICATE", nil), issuance.ReasonCertificateUnreadable},
		"a block with something else":        {block("CERTIFICATE", []byte("garbage")), issuance.ReasonCertificateUnreadable},
		"bytes after the certificate":        {block("CERTIFICATE", join(c.leaf.Raw, []byte{0})), issuance.ReasonCertificateUnreadable},
		"too many bytes":                     {join(whole, bytes.Repeat([]byte("\n"), issuance.MaxCertificateBytes)), issuance.ReasonTooLarge},
		"too many certificates":              {bytes.Repeat(whole, issuance.MaxChain+1), issuance.ReasonTooLarge},
		"too many names":                     {c.lower.Leaf(t, host, manyNames(issuance.MaxNames+1)).PEM(), issuance.ReasonTooLarge},
		"a serial number that is too long":   {longSerial(t, c.leaf), issuance.ReasonTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			material := good
			material.Certificate = row.text
			_, err := issuance.Check(material, request(), now)
			expectProblem(t, err, row.reason, time.Time{})
			if row.reason == issuance.ReasonMissing {
				return
			}
			material.Certificate, material.CA = good.Certificate, bytes.Repeat(row.text, 2)
			if _, err := issuance.Check(material, request(), now); err == nil {
				t.Errorf("passes as a CA")
			}
		})
	}
}

func manyNames(count int) issuancetest.Change {
	return func(c *x509.Certificate) {
		for i := range count {
			c.DNSNames = append(c.DNSNames, fmt.Sprintf("n%d.example.com", i))
		}
	}
}

// longSerial takes a certificate whose serial number of 15 bytes is written as 21 bytes. Go does not write such ones, so that the
// lengths of what is around it are patched.
func longSerial(t *testing.T, leaf issuancetest.Certificate) []byte {
	t.Helper()
	serial := leaf.SerialNumber.FillBytes(make([]byte, 15))
	written := append([]byte{2, byte(len(leaf.SerialNumber.Bytes()))}, leaf.SerialNumber.Bytes()...)
	if leaf.SerialNumber.BitLen()%8 == 0 {
		written = append([]byte{2, byte(len(leaf.SerialNumber.Bytes()) + 1), 0}, leaf.SerialNumber.Bytes()...)
	}
	long := append([]byte{2, 21, 1, 2, 3, 4, 5, 6}, serial...)
	der := bytes.Replace(leaf.Raw, written, long, 1)
	grown := len(der) - len(leaf.Raw)
	for _, at := range []int{2, 6} {
		if der[at-1] != 0x82 {
			t.Fatalf("the certificate has another form than this test knows")
		}
		length := int(der[at])<<8 | int(der[at+1])
		der[at], der[at+1] = byte((length+grown)>>8), byte(length+grown)
	}
	return block("CERTIFICATE", der)
}

func TestCheckPassesAsManyNamesAsItAllows(t *testing.T) {
	c := newChain(t, manyNames(issuance.MaxNames-1))
	if _, err := issuance.Check(c.material(t), issuance.Request{CommonName: host, DNSNames: c.leaf.DNSNames}, now); err != nil {
		t.Error(err)
	}
}

func TestCheckRefusesKeysThatNobodyCanUse(t *testing.T) {
	c := newChain(t)
	good := c.material(t)
	der := keyDER(t, good.PrivateKey)
	x25519, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	encrypted := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Headers: map[string]string{"Proc-Type": "4,ENCRYPTED", "DEK-Info": "AES-256-CBC,00"}, Bytes: der})
	for name, row := range map[string]struct {
		text   []byte
		reason string
	}{
		"empty":                      {nil, issuance.ReasonMissing},
		"no PEM":                     {der, issuance.ReasonNotPEM},
		"text before":                {join([]byte("key:\n"), good.PrivateKey), issuance.ReasonNotPEM},
		"cut off":                    {good.PrivateKey[:len(good.PrivateKey)/2], issuance.ReasonNotPEM},
		"two keys":                   {join(good.PrivateKey, good.PrivateKey), issuance.ReasonTooLarge},
		"too many bytes":             {block("PRIVATE KEY", make([]byte, issuance.MaxKeyBytes)), issuance.ReasonTooLarge},
		"a certificate":              {good.CA, issuance.ReasonUnexpectedBlock},
		"headers":                    {pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Headers: map[string]string{"Owner": "shop"}, Bytes: der}), issuance.ReasonUnexpectedBlock},
		"encrypted in PKCS#8":        {block("ENCRYPTED PRIVATE KEY", der), issuance.ReasonKeyEncrypted},
		"encrypted by headers":       {encrypted, issuance.ReasonKeyEncrypted},
		"no key":                     {block("PRIVATE KEY", []byte("garbage")), issuance.ReasonKeyUnreadable},
		"no content":                 {block("PRIVATE KEY", nil), issuance.ReasonKeyUnreadable},
		"another form than it says":  {block("RSA PRIVATE KEY", der), issuance.ReasonKeyUnreadable},
		"bytes after the key":        {block("PRIVATE KEY", join(der, []byte{5, 0})), issuance.ReasonKeyUnreadable},
		"RSA that is too short":      {rsaOf(t, 1024), issuance.ReasonKeyUnsupported},
		"RSA that is too long":       {rsaOf(t, issuance.MaxRSABits+8), issuance.ReasonKeyUnsupported},
		"a curve that few support":   {issuancetest.Certificate{Key: newECDSA(t, elliptic.P224())}.KeyPEM(t), issuance.ReasonKeyUnsupported},
		"a key that cannot sign":     {pkcs8(t, x25519), issuance.ReasonKeyUnsupported},
		"the key of another subject": {c.lower.KeyPEM(t), issuance.ReasonKeyMismatch},
		"a key of another algorithm": {issuancetest.Certificate{Key: newRSA(t, 2048)}.KeyPEM(t), issuance.ReasonKeyMismatch},
	} {
		t.Run(name, func(t *testing.T) {
			material := good
			material.PrivateKey = row.text
			_, err := issuance.Check(material, request(), now)
			expectProblem(t, err, row.reason, time.Time{})
		})
	}
}

func keyDER(t testing.TB, text []byte) []byte {
	t.Helper()
	found, _ := pem.Decode(text)
	if found == nil {
		t.Fatal("the key is no PEM")
	}
	return found.Bytes
}

func pkcs8(t *testing.T, key any) []byte {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return block("PRIVATE KEY", der)
}

// rsaOf builds an RSA key from numbers that fit together. They are not prime, since primes of that size take long to find, and
// reading a key does not look.
func rsaOf(t *testing.T, bits int) []byte {
	t.Helper()
	one, e := big.NewInt(1), big.NewInt(65537)
	for {
		p, q := oddNumber(t, bits/2), oddNumber(t, bits/2)
		before, beforeQ := new(big.Int).Sub(p, one), new(big.Int).Sub(q, one)
		d, inverse := new(big.Int).ModInverse(e, new(big.Int).Mul(before, beforeQ)), new(big.Int).ModInverse(q, p)
		if d == nil || inverse == nil {
			continue
		}
		der, err := asn1.Marshal(struct {
			Version                   int
			N, E, D, P, Q, Dp, Dq, Qi *big.Int
		}{0, new(big.Int).Mul(p, q), e, d, p, q, new(big.Int).Mod(d, before), new(big.Int).Mod(d, beforeQ), inverse})
		if err != nil {
			t.Fatal(err)
		}
		return block("RSA PRIVATE KEY", der)
	}
}

// oddNumber has the two highest bits set, so that a product has all its bits.
func oddNumber(t *testing.T, bits int) *big.Int {
	t.Helper()
	number, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), uint(bits)))
	if err != nil {
		t.Fatal(err)
	}
	return number.SetBit(number.SetBit(number.SetBit(number, 0, 1), bits-1, 1), bits-2, 1)
}

func TestProblemsOfKeysQuoteNothingOfThem(t *testing.T) {
	const secret = "c2VjcmV0LXNlY3JldA"
	c := newChain(t)
	for _, text := range []string{
		secret, "-----BEGIN " + secret + "-----\nAAAA\n-----END " + secret + "-----\n",
		"-----BEGIN PRIVATE KEY-----\n" + secret + "==\n-----END PRIVATE KEY-----\n",
		"-----BEGIN PRIVATE KEY-----\n" + secret + ": 1\n\nAAAA\n-----END PRIVATE KEY-----\n",
	} {
		material := c.material(t)
		material.PrivateKey = []byte(text)
		_, err := issuance.Check(material, request(), now)
		if err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestMaterialIsNotPrinted(t *testing.T) {
	material := newChain(t).material(t)
	parsed, err := issuance.Parse(material)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{fmt.Sprintf("%v %+v %#v %s", material, material, material, material), fmt.Sprintf("%v %+v %#v %s", parsed, parsed, parsed, parsed)} {
		if strings.ReplaceAll(text, "[redacted]", "") != "   " {
			t.Errorf("a key may be in %.200s", text)
		}
	}
}

func TestParseReturnsProblems(t *testing.T) {
	_, err := issuance.Parse(issuance.Material{})
	if !errors.As(err, new(*issuance.Problem)) {
		t.Errorf("got %v", err)
	}
}

func TestNamesInProblemsAreShortAndPrintable(t *testing.T) {
	strange := strings.Repeat("\x1b[31m\u202eadmin", 100)
	c := newChain(t, func(c *x509.Certificate) { c.Subject = pkix.Name{CommonName: strange} })
	_, err := issuance.Check(c.material(t), request(), now)
	expectProblem(t, err, issuance.ReasonCommonNameDiffers, time.Time{})
	if strings.ContainsAny(err.Error(), "\x1b\u202e") {
		t.Errorf("the message holds control characters: %q", err)
	}
}
