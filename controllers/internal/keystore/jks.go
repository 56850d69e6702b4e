package keystore

import (
	"bytes"
	"crypto/x509"
	"fmt"

	"github.com/pavlo-v-chernykh/keystore-go/v4"

	"github.com/daytwo-dev/daytwo/controllers/internal/issuance"
)

// JKS builds Java keystores. The CAs have the aliases ca, ca-1, ca-2 and so on. An *issuance.Problem as the error is about the material, an
// *OptionError about the options; no error holds anything secret.
func JKS(material issuance.Material, options JKSOptions) (Stores, error) {
	if err := options.Check(); err != nil {
		return Stores{}, err
	}
	parsed, err := issuance.Parse(material)
	if err != nil {
		return Stores{}, err
	}
	secret, err := deriveSecret(parsed, options.Password, "JKS", options.alias())
	if err != nil {
		return Stores{}, err
	}
	store, err := javaKeystore(parsed, options, newStream(secret, "keystore"))
	if err != nil {
		return Stores{}, err
	}
	stores := Stores{}
	if stores.Keystore, err = encodeJava(store, options.Password); err != nil || len(parsed.Authorities) == 0 {
		return stores, err
	}
	trust := newJava(newStream(secret, "truststore"))
	if err := addAuthorities(trust, parsed.Authorities); err != nil {
		return Stores{}, err
	}
	stores.Truststore, err = encodeJava(trust, options.Password)
	return stores, err
}

// newJava returns an empty store. Without the order, aliases come in the order of a Go map.
func newJava(salts *stream) keystore.KeyStore {
	return keystore.New(keystore.WithOrderedAliases(), keystore.WithCustomRandomNumberGenerator(salts))
}

func javaKeystore(parsed issuance.Parsed, options JKSOptions, salts *stream) (keystore.KeyStore, error) {
	store := newJava(salts)
	key, err := x509.MarshalPKCS8PrivateKey(parsed.Key)
	if err != nil {
		return store, fmt.Errorf("encode the private key: %w", err)
	}
	entry := keystore.PrivateKeyEntry{CreationTime: parsed.Chain[0].NotBefore, PrivateKey: key}
	for _, certificate := range parsed.Chain {
		entry.CertificateChain = append(entry.CertificateChain, javaCertificate(certificate))
	}
	if err := store.SetPrivateKeyEntry(options.alias(), entry, []byte(options.Password)); err != nil {
		return store, fmt.Errorf("put the key into the keystore: %w", err)
	}
	return store, addAuthorities(store, parsed.Authorities)
}

func addAuthorities(store keystore.KeyStore, authorities []*x509.Certificate) error {
	for index, authority := range authorities {
		entry := keystore.TrustedCertificateEntry{CreationTime: authority.NotBefore, Certificate: javaCertificate(authority)}
		if err := store.SetTrustedCertificateEntry(authorityAlias(index), entry); err != nil {
			return fmt.Errorf("put a CA into the keystore: %w", err)
		}
	}
	return nil
}

// authorityAlias is what cert-manager calls the CAs.
func authorityAlias(index int) string {
	if index == 0 {
		return "ca"
	}
	return fmt.Sprintf("ca-%d", index)
}

func javaCertificate(certificate *x509.Certificate) keystore.Certificate {
	return keystore.Certificate{Type: "X.509", Content: certificate.Raw}
}

func encodeJava(store keystore.KeyStore, password string) ([]byte, error) {
	var file bytes.Buffer
	if err := store.Store(&file, []byte(password)); err != nil {
		return nil, fmt.Errorf("write the keystore: %w", err)
	}
	return file.Bytes(), nil
}
