package issuance_test

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/daytwo-dev/daytwo/controllers/internal/issuance"
	"github.com/daytwo-dev/daytwo/controllers/internal/issuance/issuancetest"
)

func TestTheSameAnchorsAreTheSameText(t *testing.T) {
	one, two := issuancetest.Root(t, "one"), issuancetest.Root(t, "two")
	want := anchors(t, one.PEM(two))
	crlf := bytes.ReplaceAll(one.PEM(two), []byte("\n"), []byte("\r\n"))
	for name, text := range map[string][]byte{
		"in another order":      two.PEM(one),
		"twice":                 one.PEM(two, one, two),
		"with comments":         join([]byte("# one\n"), one.PEM(), []byte("\n\n# two \xff\n"), two.PEM(), []byte("the end")),
		"with carriage returns": crlf,
		"as it was written":     want.PEM,
	} {
		if got := anchors(t, text); !bytes.Equal(got.PEM, want.PEM) || got.Hash != want.Hash {
			t.Errorf("%s: got another text", name)
		}
	}
	sum := sha256.Sum256(want.PEM)
	if want.Hash != hex.EncodeToString(sum[:]) {
		t.Errorf("the hash %s is not of the text", want.Hash)
	}
	if anchors(t, one.PEM()).Hash == want.Hash {
		t.Errorf("another set of anchors has the same hash")
	}
}

func anchors(t *testing.T, text []byte) issuance.Bundle {
	t.Helper()
	bundle, err := issuance.Anchors(text, now)
	if err != nil {
		t.Fatal(err)
	}
	return bundle
}

func TestAnchorsLeavesOutExpiredOnesAndTellsThem(t *testing.T) {
	early := issuancetest.Root(t, "early", issuancetest.Valid(time.Hour, 3*time.Hour))
	valid := issuancetest.Root(t, "valid", issuancetest.Valid(-time.Hour, 2*time.Hour))
	expired := issuancetest.Root(t, "expired", issuancetest.Valid(-2*time.Hour, -time.Hour))
	bundle := anchors(t, early.PEM(expired, valid))
	if got := names(bundle.Anchors); !slices.Equal(got, []string{"early", "valid"}) {
		t.Errorf("the anchors are %v", got)
	}
	if got := names(bundle.NotYetValid); !slices.Equal(got, []string{"early"}) {
		t.Errorf("not yet valid are %v", got)
	}
	if got := names(bundle.Expired); !slices.Equal(got, []string{"expired"}) || !bundle.Expired[0].NotAfter.Equal(expired.NotAfter) {
		t.Errorf("expired are %v", bundle.Expired)
	}
	if !bundle.EarliestNotAfter.Equal(valid.NotAfter) {
		t.Errorf("the next one expires at %v, not at %v", bundle.EarliestNotAfter, valid.NotAfter)
	}
	if !bytes.Equal(bundle.PEM, anchors(t, valid.PEM(early)).PEM) {
		t.Errorf("the expired anchor is in the text")
	}
}

func names(anchors []issuance.Anchor) []string {
	var names []string
	for _, anchor := range anchors {
		names = append(names, anchor.Name)
	}
	slices.Sort(names)
	return names
}

func TestAnchorsTextIsStableUntilTheNextOneExpires(t *testing.T) {
	text := issuancetest.Root(t, "one", issuancetest.Valid(-time.Hour, time.Hour)).PEM(issuancetest.Root(t, "two"))
	first := anchors(t, text)
	at, err := issuance.Anchors(text, first.EarliestNotAfter)
	if err != nil || at.Hash != first.Hash {
		t.Errorf("the text changed before the first anchor expired: %v", err)
	}
	after, err := issuance.Anchors(text, first.EarliestNotAfter.Add(time.Second))
	if err != nil || after.Hash == first.Hash {
		t.Errorf("the text did not change after the first anchor expired: %v", err)
	}
}

func TestAnchorsRefusesWhatIsNoBundle(t *testing.T) {
	root := issuancetest.Root(t, "root")
	whole := root.PEM()
	for name, row := range map[string]struct {
		text   []byte
		reason string
	}{
		"empty":                                  {nil, issuance.ReasonNoAnchors},
		"no PEM":                                 {[]byte("nothing"), issuance.ReasonNoAnchors},
		"only expired ones":                      {issuancetest.Root(t, "old", issuancetest.Valid(-2*time.Hour, -time.Hour)).PEM(), issuance.ReasonNoAnchors},
		"a private key":                          {join(whole, root.KeyPEM(t)), issuance.ReasonPrivateKeyExposed},
		"an EC private key":                      {join(block("EC PRIVATE KEY", []byte{1}), whole), issuance.ReasonPrivateKeyExposed},
		"a public key":                           {join(whole, block("PUBLIC KEY", []byte{1})), issuance.ReasonUnexpectedBlock},
		"a certificate of a server":              {root.Leaf(t, host).PEM(root), issuance.ReasonNotCA},
		"a self-signed server":                   {issuancetest.SelfSigned(t, host).PEM(), issuance.ReasonNotCA},
		"a CA that may not sign":                 {issuancetest.Root(t, "crl", func(c *x509.Certificate) { c.KeyUsage = x509.KeyUsageCRLSign }).PEM(), issuance.ReasonNotCA},
		"no certificate in a block":              {block("CERTIFICATE", []byte("garbage")), issuance.ReasonCertificateUnreadable},
		"a block that is cut off":                {whole[:len(whole)-10], issuance.ReasonNotPEM},
		"a broken block between":                 {join(whole, []byte("-----BEGIN CERTIFICATE-----\n!\n"), whole), issuance.ReasonNotPEM},
		"two files without a line break between": {join(bytes.TrimSpace(whole), whole), issuance.ReasonNotPEM},
		"too many bytes":                         {join(whole, bytes.Repeat([]byte("#"), issuance.MaxAnchorsBytes)), issuance.ReasonTooLarge},
		"too many anchors":                       {manyRoots(t, issuance.MaxAnchors+1), issuance.ReasonTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := issuance.Anchors(row.text, now)
			expectProblem(t, err, row.reason, never)
		})
	}
}

func TestAnchorsTakesAsManyAsItAllows(t *testing.T) {
	if got := len(anchors(t, manyRoots(t, issuance.MaxAnchors)).Anchors); got != issuance.MaxAnchors {
		t.Errorf("got %d anchors", got)
	}
}

// manyRoots patches the name of one root, since signing a thousand takes long and nothing looks at the signature of an anchor.
func manyRoots(t *testing.T, count int) []byte {
	t.Helper()
	root := issuancetest.Root(t, "root-0000")
	var text bytes.Buffer
	for i := range count {
		der := bytes.ReplaceAll(root.Raw, []byte("root-0000"), []byte(fmt.Sprintf("root-%04d", i)))
		if err := pem.Encode(&text, &pem.Block{Type: "CERTIFICATE", Bytes: der}); err != nil {
			t.Fatal(err)
		}
	}
	return text.Bytes()
}

func TestAnchorNamesAreShortAndPrintable(t *testing.T) {
	root := issuancetest.Root(t, strings.Repeat("\x1b[31mü", 100), func(c *x509.Certificate) { c.Subject.SerialNumber = big.NewInt(1).String() })
	name := anchors(t, root.PEM()).Anchors[0].Name
	if len(name) > 70 || strings.ContainsRune(name, 0x1b) {
		t.Errorf("the name is %q", name)
	}
}
