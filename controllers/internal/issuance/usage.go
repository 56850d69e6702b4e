package issuance

import (
	"crypto/rsa"
	"crypto/x509"
	"slices"
)

// usage is something that a key may be used for: a bit of KeyUsage, or an extended one.
type usage struct {
	text     string
	bit      x509.KeyUsage
	extended x509.ExtKeyUsage
	// rsaOnly is a usage that other keys do not have, whoever asks for it: RFC 8813, section 3, for ECDSA, and RFC 8410,
	// section 5, for Ed25519. cert-manager asks for key encipherment by default, and Let's Encrypt leaves it out.
	rsaOnly bool
}

// usages are those of cert-manager 1.21 (its package pkg/api/util).
var usages = []usage{
	{text: "signing", bit: x509.KeyUsageDigitalSignature},
	{text: "digital signature", bit: x509.KeyUsageDigitalSignature},
	{text: "content commitment", bit: x509.KeyUsageContentCommitment},
	{text: "key encipherment", bit: x509.KeyUsageKeyEncipherment, rsaOnly: true},
	{text: "key agreement", bit: x509.KeyUsageKeyAgreement},
	{text: "data encipherment", bit: x509.KeyUsageDataEncipherment, rsaOnly: true},
	{text: "cert sign", bit: x509.KeyUsageCertSign},
	{text: "crl sign", bit: x509.KeyUsageCRLSign},
	{text: "encipher only", bit: x509.KeyUsageEncipherOnly},
	{text: "decipher only", bit: x509.KeyUsageDecipherOnly},
	{text: "any", extended: x509.ExtKeyUsageAny},
	{text: "server auth", extended: x509.ExtKeyUsageServerAuth},
	{text: "client auth", extended: x509.ExtKeyUsageClientAuth},
	{text: "code signing", extended: x509.ExtKeyUsageCodeSigning},
	{text: "email protection", extended: x509.ExtKeyUsageEmailProtection},
	{text: "s/mime", extended: x509.ExtKeyUsageEmailProtection},
	{text: "ipsec end system", extended: x509.ExtKeyUsageIPSECEndSystem},
	{text: "ipsec tunnel", extended: x509.ExtKeyUsageIPSECTunnel},
	{text: "ipsec user", extended: x509.ExtKeyUsageIPSECUser},
	{text: "timestamping", extended: x509.ExtKeyUsageTimeStamping},
	{text: "ocsp signing", extended: x509.ExtKeyUsageOCSPSigning},
	{text: "microsoft sgc", extended: x509.ExtKeyUsageMicrosoftServerGatedCrypto},
	{text: "netscape sgc", extended: x509.ExtKeyUsageNetscapeServerGatedCrypto},
}

func usagesOf(texts []string) ([]usage, *Problem) {
	var found []usage
	for _, text := range texts {
		index := slices.IndexFunc(usages, func(u usage) bool { return u.text == text })
		if index < 0 {
			return nil, problemf(ReasonRequestInvalid, "the usage %q is not known: use those of cert-manager", printable(text))
		}
		if !slices.Contains(found, usages[index]) {
			found = append(found, usages[index])
		}
	}
	return found, nil
}

// checkUsages looks for the usages that were asked for. A certificate that names none permits all (RFC 5280, sections 4.2.1.3
// and 4.2.1.12). A CA that names extended usages permits no others below it, which crypto/x509, OpenSSL and browsers enforce.
func (c candidate) checkUsages(chains [][]*x509.Certificate) *Problem {
	leaf := c.Chain[0]
	_, isRSA := leaf.PublicKey.(*rsa.PublicKey)
	for _, u := range c.usages {
		switch {
		case u.rsaOnly && !isRSA:
		case u.bit != 0 && leaf.KeyUsage != 0 && leaf.KeyUsage&u.bit == 0,
			u.bit == 0 && !permits(leaf, u.extended):
			return problemf(ReasonUsageMissing, "%s does not have the usage %q, which was asked for: ask for one that the issuer grants, or use another issuer",
				describe(0, leaf), u.text)
		case u.bit == 0 && !slices.ContainsFunc(chains, func(chain []*x509.Certificate) bool {
			return !slices.ContainsFunc(chain, func(c *x509.Certificate) bool { return !permits(c, u.extended) })
		}):
			return problemf(ReasonUsageMissing, "no CA above %s permits the usage %q, which was asked for: use another issuer", describe(0, leaf), u.text)
		}
	}
	return nil
}

func permits(certificate *x509.Certificate, extended x509.ExtKeyUsage) bool {
	if len(certificate.ExtKeyUsage) == 0 && len(certificate.UnknownExtKeyUsage) == 0 {
		return true
	}
	return slices.Contains(certificate.ExtKeyUsage, extended) || slices.Contains(certificate.ExtKeyUsage, x509.ExtKeyUsageAny)
}
