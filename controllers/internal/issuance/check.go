package issuance

import (
	"crypto"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"slices"
	"time"
)

// candidate is what was issued beside what was asked for.
type candidate struct {
	Parsed
	wanted
	now time.Time
	// public is the key that the certificate has to be for, and keyName what it is called.
	public  crypto.PublicKey
	keyName string
}

// checks are all that need no chain to the CA. The first problem is told; what passes by itself comes last, in Check, so
// that nobody waits for a certificate that never passes.
var checks = []func(candidate) *Problem{
	candidate.checkTemporary,
	candidate.checkLeaf,
	candidate.checkKey,
	candidate.checkAlgorithm,
	candidate.checkNames,
	candidate.checkCommonName,
	candidate.checkPublicKeys,
	candidate.checkSignatures,
	candidate.checkRepetition,
	candidate.checkOrder,
	candidate.checkEnd,
	candidate.checkAuthorities,
	candidate.checkExpired,
}

// Check passes what an issuer issued if it can be used now, and is what was asked for. Its errors are *Problem. The same bytes pass
// or fail in the same way at the same time, and only the time mends a problem, from Problem.Until on.
func Check(material Material, request Request, now time.Time) (Issued, error) {
	issued, problem := check(material, request, now)
	if problem != nil {
		return Issued{}, problem
	}
	return issued, nil
}

func check(material Material, request Request, now time.Time) (Issued, *Problem) {
	wanted, problem := request.normalize()
	if problem != nil {
		return Issued{}, problem
	}
	parsed, problem := parse(material)
	if problem != nil {
		return Issued{}, problem
	}
	return candidate{Parsed: parsed, wanted: wanted, now: now, public: parsed.Key.Public(), keyName: "the key in " + keyFile}.check()
}

func (c candidate) check() (Issued, *Problem) {
	for _, check := range checks {
		if problem := check(c); problem != nil {
			return Issued{}, problem
		}
	}
	chains, problem := c.verify()
	if problem != nil {
		return Issued{}, problem
	}
	if problem := c.checkUsages(chains); problem != nil {
		return Issued{}, problem
	}
	if problem := c.checkNotYetValid(); problem != nil {
		return Issued{}, problem
	}
	return c.issued(chains), nil
}

// checkTemporary knows cert-manager's stand-in by the marks that its package pkg/util/pki sets.
func (c candidate) checkTemporary() *Problem {
	leaf := c.Chain[0]
	if leaf.Subject.SerialNumber == "1234567890" && leaf.Issuer.CommonName == "cert-manager.local" {
		return problemf(ReasonTemporary, "%s is cert-manager's temporary one, which no client trusts: wait for the issuer, and look at it if that takes long",
			describe(0, leaf))
	}
	return nil
}

func (c candidate) checkLeaf() *Problem {
	if leaf := c.Chain[0]; leaf.IsCA {
		return problemf(ReasonLeafIsCA, "%s, the first of %s, is a CA: put the certificate itself first, and ask for one that is no CA", describe(0, leaf), certificateFile)
	}
	return nil
}

func (c candidate) checkKey() *Problem {
	if !belongsTo(c.public, c.Chain[0]) {
		return problemf(ReasonKeyMismatch, "%s belongs to another certificate than %q: have it issued again", c.keyName, nameOf(c.Chain[0]))
	}
	return nil
}

func (c candidate) checkAlgorithm() *Problem {
	algorithm, size := algorithmOf(c.public)
	sized := algorithm != AlgorithmEd25519 && c.size != 0
	if c.algorithm != "" && c.algorithm != algorithm || sized && c.size != size {
		return problemf(ReasonKeyAlgorithmDiffers, "%s is %s with %d bits, and not %s as was asked for: have it issued again with a new key",
			c.keyName, algorithm, size, c.describeAlgorithm())
	}
	return nil
}

func (w wanted) describeAlgorithm() string {
	switch {
	case w.size == 0 || w.algorithm == AlgorithmEd25519:
		return w.algorithm
	case w.algorithm == "":
		return fmt.Sprintf("one with %d bits", w.size)
	}
	return fmt.Sprintf("%s with %d bits", w.algorithm, w.size)
}

// checkNames compares all names, so that a certificate of somebody else does not pass by having these names too.
func (c candidate) checkNames() *Problem {
	have := namesOf(c.Chain[0])
	if missing := without(c.names, have); len(missing) > 0 {
		return problemf(ReasonNamesMissing, "%s does not have the %s, which was asked for: have it issued again, for all names", describe(0, c.Chain[0]), list(missing))
	}
	if unexpected := without(have, slices.Concat(c.names, c.commonNames())); len(unexpected) > 0 {
		return problemf(ReasonNamesUnexpected, "%s has the %s, for which nobody asked: look at the issuer, and ask for the name if it is right",
			describe(0, c.Chain[0]), list(unexpected))
	}
	return nil
}

// checkCommonName takes a certificate without common name if the name is among the others: that is how some profiles of
// ACME issuers answer, and where clients look for it (RFC 9525, section 1.1).
func (c candidate) checkCommonName() *Problem {
	leaf := c.Chain[0]
	have := leaf.Subject.CommonName
	switch {
	case c.commonName == "" && have == "", have == c.commonName:
		return nil
	case c.commonName == "":
		if slices.ContainsFunc(wanted{commonName: have}.commonNames(), func(n name) bool { return slices.Contains(c.names, n) }) {
			return nil
		}
	case have == "":
		if slices.ContainsFunc(c.commonNames(), func(n name) bool { return slices.Contains(namesOf(leaf), n) }) {
			return nil
		}
	case dnsName(have) == dnsName(c.commonName):
		return nil
	}
	return problemf(ReasonCommonNameDiffers, "the certificate has the common name %q, and not %q as was asked for: have it issued again, or ask for that name",
		printable(have), printable(c.commonName))
}

// checkPublicKeys comes before any signature is checked: a huge key takes minutes.
func (c candidate) checkPublicKeys() *Problem {
	for index, certificate := range c.Chain {
		if flaw := flawOf(certificate.PublicKey); flaw != "" {
			return problemf(ReasonKeyUnsupported, "%s has %s", describe(index, certificate), flaw)
		}
	}
	for _, authority := range c.Authorities {
		if flaw := flawOf(authority.PublicKey); flaw != "" {
			return problemf(ReasonKeyUnsupported, "%s has %s", describeAuthority(authority), flaw)
		}
	}
	return nil
}

var strongSignatures = []x509.SignatureAlgorithm{
	x509.SHA256WithRSA, x509.SHA384WithRSA, x509.SHA512WithRSA,
	x509.SHA256WithRSAPSS, x509.SHA384WithRSAPSS, x509.SHA512WithRSAPSS,
	x509.ECDSAWithSHA256, x509.ECDSAWithSHA384, x509.ECDSAWithSHA512, x509.PureEd25519,
}

// checkSignatures leaves CAs out that name themselves as their issuer: clients trust these as they are, and do not look at the signature.
func (c candidate) checkSignatures() *Problem {
	for index, certificate := range c.Chain {
		if certificate.IsCA && issuedBySelf(certificate) || slices.Contains(strongSignatures, certificate.SignatureAlgorithm) {
			continue
		}
		return problemf(ReasonWeakSignature, "%s is signed with %s, which clients refuse: let the issuer sign with SHA-256",
			describe(index, certificate), signatureName(certificate))
	}
	return nil
}

func signatureName(certificate *x509.Certificate) string {
	if certificate.SignatureAlgorithm == x509.UnknownSignatureAlgorithm {
		return "an unknown algorithm"
	}
	return certificate.SignatureAlgorithm.String()
}

func (c candidate) issued(chains [][]*x509.Certificate) Issued {
	leaf := c.Chain[0]
	names := namesOf(leaf)
	return Issued{
		Serial: leaf.SerialNumber.Text(16), Fingerprint: hexSHA256(leaf.Raw),
		NotBefore: leaf.NotBefore, NotAfter: leaf.NotAfter, ChainNotAfter: lastsUntil(chains), CommonName: printable(leaf.Subject.CommonName),
		DNSNames: valuesOf(kindDNS, names), IPAddresses: valuesOf(kindIP, names),
		URIs: valuesOf(kindURI, names), EmailAddresses: valuesOf(kindEmail, names),
	}
}

// lastsUntil is when the last of these chains breaks.
func lastsUntil(chains [][]*x509.Certificate) time.Time {
	var last time.Time
	for _, chain := range chains {
		first := slices.MinFunc(chain, func(a, b *x509.Certificate) int { return a.NotAfter.Compare(b.NotAfter) })
		if first.NotAfter.After(last) {
			last = first.NotAfter
		}
	}
	return last
}

func hexSHA256(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
