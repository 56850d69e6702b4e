package keystore_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	java "github.com/pavlo-v-chernykh/keystore-go/v4"
	"software.sslmate.com/src/go-pkcs12"

	"github.com/daytwo-dev/daytwo/controllers/internal/issuance"
	"github.com/daytwo-dev/daytwo/controllers/internal/issuance/issuancetest"
	"github.com/daytwo-dev/daytwo/controllers/internal/keystore"
)

const (
	host     = "shop.example.com"
	password = "correct horse"
)

// issued is a certificate below an intermediate, with two CAs.
type issued struct {
	leaf, lower, root, old issuancetest.Certificate
}

func newIssued(t testing.TB) issued {
	t.Helper()
	root := issuancetest.Root(t, "root")
	lower := root.Intermediate(t, "lower")
	return issued{lower.Leaf(t, host), lower, root, issuancetest.Root(t, "root")}
}

func (i issued) material(t testing.TB) issuance.Material {
	t.Helper()
	return issuance.Material{Certificate: i.leaf.PEM(i.lower), PrivateKey: i.leaf.KeyPEM(t), CA: i.root.PEM(i.old)}
}

// format is one way to build stores, and to open them again.
type format struct {
	build func(issuance.Material, string) (keystore.Stores, error)
	// open returns the certificate, the chain above it and the CAs, in DER, and the key.
	open      func(file []byte, password string) (contents, error)
	openTrust func(file []byte, password string) ([][]byte, error)
}

type contents struct {
	key   any
	certs [][]byte
}

func formats() map[string]format {
	all := map[string]format{"JKS": {
		build: func(m issuance.Material, password string) (keystore.Stores, error) {
			return keystore.JKS(m, keystore.JKSOptions{Password: password})
		},
		open: openJava, openTrust: openJavaTrust,
	}}
	for _, profile := range []keystore.Profile{keystore.Modern2023, keystore.Modern2026, keystore.LegacyDES, keystore.LegacyRC2} {
		all[string(profile)] = format{
			build: func(m issuance.Material, password string) (keystore.Stores, error) {
				return keystore.PKCS12(m, keystore.PKCS12Options{Password: password, Profile: profile})
			},
			open: openPKCS12, openTrust: openPKCS12Trust,
		}
	}
	return all
}

func openJava(file []byte, password string) (contents, error) {
	store := java.New()
	if err := store.Load(bytes.NewReader(file), []byte(password)); err != nil {
		return contents{}, err
	}
	entry, err := store.GetPrivateKeyEntry(keystore.DefaultAlias, []byte(password))
	if err != nil {
		return contents{}, err
	}
	got := contents{key: entry.PrivateKey}
	for _, certificate := range entry.CertificateChain {
		got.certs = append(got.certs, certificate.Content)
	}
	authorities, err := javaAuthorities(store)
	got.certs = append(got.certs, authorities...)
	return got, err
}

func openJavaTrust(file []byte, password string) ([][]byte, error) {
	store := java.New()
	if err := store.Load(bytes.NewReader(file), []byte(password)); err != nil {
		return nil, err
	}
	if store.IsPrivateKeyEntry(keystore.DefaultAlias) {
		return nil, errors.New("the trust store has a key")
	}
	return javaAuthorities(store)
}

func javaAuthorities(store java.KeyStore) ([][]byte, error) {
	var found [][]byte
	for _, alias := range []string{"ca", "ca-1", "ca-2"} {
		entry, err := store.GetTrustedCertificateEntry(alias)
		if errors.Is(err, java.ErrEntryNotFound) {
			return found, nil
		}
		if err != nil {
			return nil, err
		}
		found = append(found, entry.Certificate.Content)
	}
	return nil, errors.New("there are more CAs than this test has")
}

func openPKCS12(file []byte, password string) (contents, error) {
	key, leaf, others, err := pkcs12.DecodeChain(file, password)
	if err != nil {
		return contents{}, err
	}
	got := contents{key: key, certs: [][]byte{leaf.Raw}}
	for _, certificate := range others {
		got.certs = append(got.certs, certificate.Raw)
	}
	return got, nil
}

func openPKCS12Trust(file []byte, password string) ([][]byte, error) {
	certificates, err := pkcs12.DecodeTrustStore(file, password)
	var found [][]byte
	for _, certificate := range certificates {
		found = append(found, certificate.Raw)
	}
	return found, err
}

func expectOptionError(t *testing.T, err error, option, secret string) {
	t.Helper()
	var wrong *keystore.OptionError
	if !errors.As(err, &wrong) || wrong.Option != option {
		t.Fatalf("expected an error about the %s, got %v", option, err)
	}
	if secret != "" && strings.Contains(err.Error(), secret) {
		t.Errorf("the error quotes the password: %v", err)
	}
}
