package keystore

import (
	"io"
	"testing"

	"github.com/daytwo-dev/daytwo/controllers/internal/issuance"
	"github.com/daytwo-dev/daytwo/controllers/internal/issuance/issuancetest"
)

// TestNoSaltIsUsedTwice takes as many salts as a file needs, for contents that differ in one thing, and wants all of them to be
// different.
func TestNoSaltIsUsedTwice(t *testing.T) {
	root := issuancetest.Root(t, "root")
	leaf, renewed := root.Leaf(t, "shop.example.com"), root.Leaf(t, "shop.example.com")
	base := parse(t, leaf.PEM(), leaf.KeyPEM(t), root.PEM())
	owner := map[string]string{}
	for name, secret := range map[string][]byte{
		"the content":         derive(t, base, "password", "JKS", "certificate"),
		"another password":    derive(t, base, "passwore", "JKS", "certificate"),
		"another format":      derive(t, base, "password", "PKCS#12", "certificate"),
		"another alias":       derive(t, base, "password", "JKS", "certificat"),
		"options moved":       derive(t, base, "password", "JKSc", "ertificate"),
		"another certificate": derive(t, parse(t, renewed.PEM(), renewed.KeyPEM(t), root.PEM()), "password", "JKS", "certificate"),
		"a longer chain":      derive(t, parse(t, leaf.PEM(root), leaf.KeyPEM(t), nil), "password", "JKS", "certificate"),
		"another key alone":   derive(t, parse(t, leaf.PEM(), renewed.KeyPEM(t), root.PEM()), "password", "JKS", "certificate"),
		"no CA":               derive(t, parse(t, leaf.PEM(), leaf.KeyPEM(t), nil), "password", "JKS", "certificate"),
	} {
		for _, purpose := range []string{"keystore", "truststore"} {
			salts := newStream(secret, purpose)
			for range 5 {
				salt := make([]byte, 8)
				if _, err := io.ReadFull(salts, salt); err != nil {
					t.Fatal(err)
				}
				if other := owner[string(salt)]; other != "" {
					t.Errorf("%s has a salt of %s", name, other)
				}
				owner[string(salt)] = name
			}
		}
	}
}

func TestAStreamFillsWhatIsAskedOfIt(t *testing.T) {
	root := issuancetest.Root(t, "root")
	secret := derive(t, parse(t, root.PEM(), root.KeyPEM(t), nil), "password")
	for _, size := range []int{1, 8, 20, 1000} {
		if read, err := newStream(secret, "keystore").Read(make([]byte, size)); err != nil || read != size {
			t.Errorf("read %d bytes of %d: %v", read, size, err)
		}
	}
}

func parse(t *testing.T, certificate, key, authority []byte) issuance.Parsed {
	t.Helper()
	parsed, err := issuance.Parse(issuance.Material{Certificate: certificate, PrivateKey: key, CA: authority})
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

func derive(t *testing.T, parsed issuance.Parsed, password string, options ...string) []byte {
	t.Helper()
	secret, err := deriveSecret(parsed, password, options...)
	if err != nil {
		t.Fatal(err)
	}
	return secret
}
