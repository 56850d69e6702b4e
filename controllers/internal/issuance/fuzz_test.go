package issuance_test

import (
	"bytes"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/daytwo-dev/daytwo/controllers/internal/issuance"
	"github.com/daytwo-dev/daytwo/controllers/internal/issuance/issuancetest"
)

// FuzzCheck holds that Check ends, that what passes works with crypto/tls and has the name, and that a problem can be told.
func FuzzCheck(f *testing.F) {
	c := newChain(f)
	good := c.material(f)
	self := issuancetest.SelfSigned(f, host)
	stranger := issuancetest.Root(f, "stranger")
	for _, authority := range [][]byte{good.CA, nil, c.leaf.PEM(), stranger.PEM(c.root)} {
		for _, certificate := range [][]byte{good.Certificate, c.leaf.PEM(), c.leaf.PEM(c.upper, c.lower), c.leaf.PEM(stranger), c.root.PEM(), good.PrivateKey, nil} {
			f.Add(certificate, good.PrivateKey, authority, host, int64(0))
		}
	}
	f.Add(self.PEM(), self.KeyPEM(f), self.PEM(), host, int64(time.Minute))
	f.Add(good.Certificate, good.PrivateKey, good.CA, "*.example.com", int64(issuancetest.Lifetime+1))
	f.Add(good.Certificate, good.PrivateKey[:50], good.CA, host, -int64(issuancetest.Lifetime+time.Hour))
	f.Fuzz(func(t *testing.T, certificate, key, authority []byte, name string, offset int64) {
		material := issuance.Material{Certificate: certificate, PrivateKey: key, CA: authority}
		at := now.Add(time.Duration(offset))
		issued, err := issuance.Check(material, issuance.Request{DNSNames: []string{name}, Usages: []string{"server auth"}}, at)
		if err != nil {
			expectNothingOfTheKey(t, err, key)
			return
		}
		pair, err := tls.X509KeyPair(certificate, key)
		if err != nil {
			t.Fatalf("crypto/tls refuses what passes: %v", err)
		}
		if at.Before(pair.Leaf.NotBefore) || at.After(issued.ChainNotAfter) || issued.ChainNotAfter.After(issued.NotAfter) {
			t.Fatalf("passes though it is not valid at %v: %+v", at, issued)
		}
		if !slices.Contains(issued.DNSNames, strings.ToLower(strings.TrimSuffix(name, "."))) || len(issued.DNSNames) != 1 {
			t.Fatalf("asked for %q, passes with %q", name, issued.DNSNames)
		}
	})
}

func expectNothingOfTheKey(t *testing.T, err error, key []byte) {
	t.Helper()
	var problem *issuance.Problem
	if !errors.As(err, &problem) {
		t.Fatalf("the error is no problem: %v", err)
	}
	expectTellable(t, problem)
	for _, line := range bytes.Split(key, []byte("\n")) {
		if _, err := base64.StdEncoding.DecodeString(string(line)); err == nil && len(line) >= 40 && strings.Contains(problem.Message, string(line)) {
			t.Fatalf("the message quotes the key: %q", problem.Message)
		}
	}
}

// FuzzAnchors holds that Anchors ends, and that its text is canonical: read again, in any order, it is the same.
func FuzzAnchors(f *testing.F) {
	one, two := issuancetest.Root(f, "one"), issuancetest.Root(f, "two")
	for _, text := range [][]byte{
		one.PEM(two), join([]byte("# one\n"), one.PEM()), one.PEM(one), one.PEM()[:100], one.Leaf(f, host).PEM(), one.KeyPEM(f), nil,
	} {
		f.Add(text, int64(0), uint64(1))
		f.Add(text, int64(2*issuancetest.Lifetime), uint64(2))
	}
	f.Fuzz(func(t *testing.T, text []byte, offset int64, seed uint64) {
		at := now.Add(time.Duration(offset))
		bundle, err := issuance.Anchors(text, at)
		if err != nil {
			expectNothingOfTheKey(t, err, nil)
			return
		}
		blocks := bytes.SplitAfter(bundle.PEM, []byte("-----END CERTIFICATE-----\n"))
		rand.New(rand.NewPCG(seed, seed)).Shuffle(len(blocks), func(i, j int) { blocks[i], blocks[j] = blocks[j], blocks[i] })
		again, err := issuance.Anchors(join(blocks...), at)
		if err != nil || !bytes.Equal(again.PEM, bundle.PEM) || again.Hash != bundle.Hash || len(again.Expired) > 0 {
			t.Fatalf("the text is not canonical: %v", err)
		}
		if at.After(bundle.EarliestNotAfter) || bytes.Contains(bundle.PEM, []byte("PRIVATE")) || len(bundle.Anchors) != len(blocks)-1 {
			t.Fatalf("got %+v", bundle)
		}
	})
}
