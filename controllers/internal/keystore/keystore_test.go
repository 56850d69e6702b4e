package keystore_test

import (
	"bytes"
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	java "github.com/pavlo-v-chernykh/keystore-go/v4"

	"github.com/daytwo-dev/daytwo/controllers/internal/issuance"
	"github.com/daytwo-dev/daytwo/controllers/internal/issuance/issuancetest"
	"github.com/daytwo-dev/daytwo/controllers/internal/keystore"
)

func TestStoresHoldWhatWasIssued(t *testing.T) {
	i := newIssued(t)
	for name, format := range formats() {
		t.Run(name, func(t *testing.T) {
			stores := build(t, format, i.material(t), password)
			got, err := format.open(stores.Keystore, password)
			if err != nil {
				t.Fatal(err)
			}
			if want := [][]byte{i.leaf.Raw, i.lower.Raw, i.root.Raw, i.old.Raw}; !reflect.DeepEqual(got.certs, want) {
				t.Errorf("the keystore has %d other certificates than the %d that were issued", len(got.certs), len(want))
			}
			expectKey(t, got.key, i.leaf.Key)
			trusted, err := format.openTrust(stores.Truststore, password)
			if err != nil {
				t.Fatal(err)
			}
			if want := [][]byte{i.root.Raw, i.old.Raw}; !reflect.DeepEqual(trusted, want) {
				t.Errorf("the trust store has %d other certificates than the %d CAs", len(trusted), len(want))
			}
		})
	}
}

func build(t *testing.T, format format, material issuance.Material, password string) keystore.Stores {
	t.Helper()
	stores, err := format.build(material, password)
	if err != nil {
		t.Fatal(err)
	}
	return stores
}

func expectKey(t *testing.T, got any, want crypto.Signer) {
	t.Helper()
	der, isDER := got.([]byte)
	if isDER {
		var err error
		if got, err = x509.ParsePKCS8PrivateKey(der); err != nil {
			t.Fatal(err)
		}
	}
	if key, ok := got.(interface{ Equal(crypto.PrivateKey) bool }); !ok || !key.Equal(want) {
		t.Errorf("the keystore has another key")
	}
}

func TestStoresHoldKeysOfAllKinds(t *testing.T) {
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	long, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	root := issuancetest.Root(t, "root")
	for _, key := range []crypto.Signer{edwards, long} {
		leaf := root.LeafFor(t, host, key)
		for name, format := range formats() {
			stores := build(t, format, issuance.Material{Certificate: leaf.PEM(), PrivateKey: leaf.KeyPEM(t)}, password)
			got, err := format.open(stores.Keystore, password)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			expectKey(t, got.key, key)
			if stores.Truststore != nil {
				t.Errorf("%s: a trust store without any CA", name)
			}
		}
	}
}

func TestTheSameContentIsTheSameBytes(t *testing.T) {
	i := newIssued(t)
	spaced := i.material(t)
	spaced.Certificate = bytes.ReplaceAll(spaced.Certificate, []byte("\n"), []byte("\r\n"))
	for name, format := range formats() {
		t.Run(name, func(t *testing.T) {
			first := build(t, format, i.material(t), password)
			for range 5 {
				if again := build(t, format, i.material(t), password); !reflect.DeepEqual(first, again) {
					t.Fatal("the same material and password give other bytes")
				}
			}
			if again := build(t, format, spaced, password); !reflect.DeepEqual(first, again) {
				t.Error("other line ends give other bytes")
			}
		})
	}
}

func TestOtherContentIsOtherBytes(t *testing.T) {
	i := newIssued(t)
	other := i.lower.Leaf(t, host)
	renewed := i.lower.LeafFor(t, host, i.leaf.Key)
	base := i.material(t)
	for name, format := range formats() {
		t.Run(name, func(t *testing.T) {
			first := build(t, format, base, password)
			for change, row := range map[string]struct {
				material issuance.Material
				password string
			}{
				"password":    {base, password + "!"},
				"key":         {issuance.Material{Certificate: other.PEM(i.lower), PrivateKey: other.KeyPEM(t), CA: base.CA}, password},
				"certificate": {issuance.Material{Certificate: renewed.PEM(i.lower), PrivateKey: base.PrivateKey, CA: base.CA}, password},
				"chain":       {issuance.Material{Certificate: i.leaf.PEM(), PrivateKey: base.PrivateKey, CA: base.CA}, password},
				"CA":          {issuance.Material{Certificate: base.Certificate, PrivateKey: base.PrivateKey, CA: i.root.PEM()}, password},
			} {
				next := build(t, format, row.material, row.password)
				if bytes.Equal(next.Keystore, first.Keystore) {
					t.Errorf("another %s gives the same bytes", change)
				}
			}
		})
	}
}

func TestAWrongPasswordOpensNothing(t *testing.T) {
	i := newIssued(t)
	for name, format := range formats() {
		t.Run(name, func(t *testing.T) {
			stores := build(t, format, i.material(t), password)
			if _, err := format.open(stores.Keystore, "wrong password"); err == nil {
				t.Error("the keystore opens")
			}
			if _, err := format.openTrust(stores.Truststore, "wrong password"); err == nil {
				t.Error("the trust store opens")
			}
		})
	}
}

func TestModern2023IsTheDefaultProfile(t *testing.T) {
	material := newIssued(t).material(t)
	chosen, err := keystore.PKCS12(material, keystore.PKCS12Options{Password: password, Profile: keystore.Modern2023})
	if err != nil {
		t.Fatal(err)
	}
	byDefault, err := keystore.PKCS12(material, keystore.PKCS12Options{Password: password})
	if err != nil || !reflect.DeepEqual(chosen, byDefault) {
		t.Errorf("the default is another one: %v", err)
	}
}

func TestJKSHasTheAliasThatWasChosen(t *testing.T) {
	i := newIssued(t)
	stores, err := keystore.JKS(i.material(t), keystore.JKSOptions{Password: password, Alias: "Shop.web_1"})
	if err != nil {
		t.Fatal(err)
	}
	store := java.New()
	if err := store.Load(bytes.NewReader(stores.Keystore), []byte(password)); err != nil {
		t.Fatal(err)
	}
	entry, err := store.GetPrivateKeyEntry("shop.web_1", []byte(password))
	if err != nil {
		t.Fatal(err)
	}
	if !entry.CreationTime.Equal(i.leaf.NotBefore) {
		t.Errorf("the entry is of %v, and not of when the certificate begins", entry.CreationTime)
	}
}

func TestPasswordsOutOfBoundsAreRefused(t *testing.T) {
	material := newIssued(t).material(t)
	for name, row := range map[string]struct {
		password    string
		jks, pkcs12 bool
	}{
		"empty":                   {"", false, false},
		"one byte":                {"x", false, true},
		"five characters":         {"12345", false, true},
		"six characters":          {"123456", true, true},
		"128 bytes":               {strings.Repeat("x", 128), true, true},
		"129 bytes":               {strings.Repeat("x", 129), false, false},
		"a line break at the end": {"password\n", false, false},
		"a null byte":             {"pass\x00word", false, false},
		"no UTF-8":                {"password\xff", false, false},
		"umlauts":                 {"pässwörd", false, true},
		"emoji":                   {"password🔑", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := keystore.JKS(material, keystore.JKSOptions{Password: row.password})
			expectRefused(t, err, !row.jks, "password", row.password)
			_, err = keystore.PKCS12(material, keystore.PKCS12Options{Password: row.password})
			expectRefused(t, err, !row.pkcs12, "password", row.password)
		})
	}
}

func expectRefused(t *testing.T, err error, refused bool, option, secret string) {
	t.Helper()
	if !refused {
		if err != nil {
			t.Errorf("refused: %v", err)
		}
		return
	}
	if len(secret) < 5 {
		secret = ""
	}
	expectOptionError(t, err, option, secret)
}

func TestAliasesThatCannotBeAreRefused(t *testing.T) {
	material := newIssued(t).material(t)
	for alias, refused := range map[string]bool{
		"": false, "a": false, "shop-1.web_2": false, "cabinet": false, "ca-x": false, strings.Repeat("x", 64): false,
		strings.Repeat("x", 65): true, "ca": true, "CA": true, "ca-1": true, "Ca-12": true, "-x": true, "a b": true, "ä": true, "a\n": true,
	} {
		_, err := keystore.JKS(material, keystore.JKSOptions{Password: password, Alias: alias})
		expectRefused(t, err, refused, "alias", "")
	}
}

func TestAnUnknownProfileIsRefused(t *testing.T) {
	_, err := keystore.PKCS12(newIssued(t).material(t), keystore.PKCS12Options{Password: password, Profile: "Modern"})
	expectOptionError(t, err, "profile", "")
}

func TestMaterialThatCannotBeReadIsAProblem(t *testing.T) {
	for name, format := range formats() {
		_, err := format.build(issuance.Material{}, password)
		if !errors.As(err, new(*issuance.Problem)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSecretsAreNotPrinted(t *testing.T) {
	stores, err := keystore.JKS(newIssued(t).material(t), keystore.JKSOptions{Password: password})
	if err != nil {
		t.Fatal(err)
	}
	for _, value := range []any{stores, keystore.JKSOptions{Password: password}, keystore.PKCS12Options{Password: password}} {
		if text := fmt.Sprintf("%v %+v %#v %s", value, value, value, value); text != "[redacted] [redacted] [redacted] [redacted]" {
			t.Errorf("got %.200s", text)
		}
	}
}
