package keystore

import (
	"fmt"
	"slices"

	"software.sslmate.com/src/go-pkcs12"

	"github.com/daytwo-dev/daytwo/controllers/internal/issuance"
)

var encoders = map[Profile]*pkcs12.Encoder{
	Modern2023: pkcs12.Modern2023, Modern2026: pkcs12.Modern2026, LegacyDES: pkcs12.LegacyDES, LegacyRC2: pkcs12.LegacyRC2,
}

// PKCS12 builds PKCS#12 files. The key has no alias there; Java calls it 1. In the trust store the CAs are called ca, ca-1, ca-2 and so
// on, since Java would take two of the same name for one. An *issuance.Problem as the error is about the material, an *OptionError
// about the options; no error holds anything secret.
func PKCS12(material issuance.Material, options PKCS12Options) (Stores, error) {
	if err := options.Check(); err != nil {
		return Stores{}, err
	}
	parsed, err := issuance.Parse(material)
	if err != nil {
		return Stores{}, err
	}
	secret, err := deriveSecret(parsed, options.Password, "PKCS#12", string(options.profile()))
	if err != nil {
		return Stores{}, err
	}
	encoder := encoders[options.profile()]
	others := slices.Concat(parsed.Chain[1:], parsed.Authorities)
	var stores Stores
	stores.Keystore, err = encoder.WithRand(newStream(secret, "keystore")).Encode(parsed.Key, parsed.Chain[0], others, options.Password)
	if err != nil {
		return Stores{}, fmt.Errorf("write the keystore: %w", err)
	}
	if len(parsed.Authorities) == 0 {
		return stores, nil
	}
	entries := make([]pkcs12.TrustStoreEntry, 0, len(parsed.Authorities))
	for index, authority := range parsed.Authorities {
		entries = append(entries, pkcs12.TrustStoreEntry{Cert: authority, FriendlyName: authorityAlias(index)})
	}
	stores.Truststore, err = encoder.WithRand(newStream(secret, "truststore")).EncodeTrustStoreEntries(entries, options.Password)
	if err != nil {
		return Stores{}, fmt.Errorf("write the trust store: %w", err)
	}
	return stores, nil
}
