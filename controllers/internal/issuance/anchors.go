package issuance

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"slices"
	"strings"
	"time"
)

const (
	// MaxAnchors is how many different certificates a bundle has at most, expired ones included. Mozilla's has some 140.
	MaxAnchors = 1000
	// MaxAnchorsBytes is how long a bundle is at most, as it comes and as it goes: a Secret or ConfigMap holds 1 MiB with its metadata.
	MaxAnchorsBytes = 900 << 10

	bundleFile = "the bundle"
)

// Anchor is what may be told of a CA that is trusted.
type Anchor struct {
	// Name is for people: the common name, or the whole subject, cut to 64 bytes. Several anchors may have the same.
	Name string
	// Fingerprint is the SHA-256 of the certificate, in hexadecimal.
	Fingerprint string
	// NotBefore and NotAfter are between when it is valid, both included.
	NotBefore, NotAfter time.Time
}

// Bundle is a set of trust anchors.
type Bundle struct {
	// PEM has each anchor once, in the order of Anchors, and nothing else. The same set of anchors is the same text, in whatever
	// form it came.
	PEM []byte
	// Hash is the SHA-256 of PEM, in hexadecimal.
	Hash string
	// Anchors are those in PEM, in the order of their fingerprints.
	Anchors []Anchor
	// NotYetValid are those of Anchors that are not valid yet. They are in PEM: a new CA is given out before it signs.
	NotYetValid []Anchor
	// Expired are those that were left out of PEM.
	Expired []Anchor
	// EarliestNotAfter is when the next one of Anchors expires. Until then the same input gives the same PEM.
	EarliestNotAfter time.Time
}

// Anchors reads a trust bundle: PEM of CA certificates. Text between the blocks is left out, since most bundles have comments
// there. A private key, a certificate that is no CA, and a block that is broken are refused, since whoever wrote them meant something
// else. Its errors are *Problem. Where all certificates have expired, the Bundle names them beside the error.
func Anchors(data []byte, now time.Time) (Bundle, error) {
	certificates, problem := parseAnchors(data)
	if problem != nil {
		return Bundle{}, problem
	}
	bundle := newBundle(certificates, now)
	switch {
	case len(bundle.Anchors) == 0 && len(bundle.Expired) > 0:
		return Bundle{Expired: bundle.Expired}, problemf(ReasonNoAnchors, "all %d certificates of %s have expired, %q last, at %s: add one that is valid",
			len(bundle.Expired), bundleFile, lastExpired(bundle).Name, timestamp(lastExpired(bundle).NotAfter))
	case len(bundle.Anchors) == 0:
		return Bundle{}, problemf(ReasonNoAnchors, "%s has no certificate: add PEM blocks of type CERTIFICATE", bundleFile)
	case len(bundle.PEM) > MaxAnchorsBytes:
		return Bundle{}, tooLarge(len(bundle.PEM))
	}
	return bundle, nil
}

func tooLarge(size int) *Problem {
	return problemf(ReasonTooLarge, "%s has %d bytes, more than %d: leave CAs out", bundleFile, size, MaxAnchorsBytes)
}

// parseAnchors returns the certificates of a bundle, each once, in the order of their fingerprints.
func parseAnchors(data []byte) ([]*x509.Certificate, *Problem) {
	if len(data) > MaxAnchorsBytes {
		return nil, tooLarge(len(data))
	}
	found := map[[sha256.Size]byte]*x509.Certificate{}
	for index := 0; ; index++ {
		block, _, rest, ok := nextBlock(data)
		switch {
		case !ok:
			return nil, problemf(ReasonNotPEM, "%s has a PEM block that is broken or cut off, after %d whole ones: put the whole certificate there", bundleFile, index)
		case block == nil:
			return inOrder(found), nil
		}
		data = rest
		certificate, problem := parseAnchor(index, block)
		if problem != nil {
			return nil, problem
		}
		if found[sha256.Sum256(block.Bytes)] = certificate; len(found) > MaxAnchors {
			return nil, problemf(ReasonTooLarge, "%s has more than %d different certificates: leave CAs out", bundleFile, MaxAnchors)
		}
	}
}

// parseAnchor refuses what is no CA. Roots of X.509 version 1 cannot say that they are one, and are refused as well.
func parseAnchor(index int, block *pem.Block) (*x509.Certificate, *Problem) {
	certificate, problem := parseCertificate(bundleFile, index, block)
	switch {
	case problem != nil:
		return nil, problem
	case !mayIssue(certificate):
		return nil, problemf(ReasonNotCA, "certificate %d of %s, %q, is no CA: put the CA there that signed it", index+1, bundleFile, nameOf(certificate))
	}
	return certificate, nil
}

func inOrder(found map[[sha256.Size]byte]*x509.Certificate) []*x509.Certificate {
	type entry struct {
		fingerprint [sha256.Size]byte
		certificate *x509.Certificate
	}
	entries := make([]entry, 0, len(found))
	for fingerprint, certificate := range found {
		entries = append(entries, entry{fingerprint, certificate})
	}
	slices.SortFunc(entries, func(a, b entry) int { return bytes.Compare(a.fingerprint[:], b.fingerprint[:]) })
	certificates := make([]*x509.Certificate, 0, len(entries))
	for _, e := range entries {
		certificates = append(certificates, e.certificate)
	}
	return certificates
}

func newBundle(certificates []*x509.Certificate, now time.Time) Bundle {
	var bundle Bundle
	var text bytes.Buffer
	for _, certificate := range certificates {
		anchor := anchorOf(certificate)
		if now.After(anchor.NotAfter) {
			bundle.Expired = append(bundle.Expired, anchor)
			continue
		}
		text.Write(pem.EncodeToMemory(&pem.Block{Type: certificateType, Bytes: certificate.Raw}))
		bundle.Anchors = append(bundle.Anchors, anchor)
		if now.Before(anchor.NotBefore) {
			bundle.NotYetValid = append(bundle.NotYetValid, anchor)
		}
		if bundle.EarliestNotAfter.IsZero() || anchor.NotAfter.Before(bundle.EarliestNotAfter) {
			bundle.EarliestNotAfter = anchor.NotAfter
		}
	}
	bundle.PEM = text.Bytes()
	bundle.Hash = hexSHA256(bundle.PEM)
	return bundle
}

func anchorOf(certificate *x509.Certificate) Anchor {
	return Anchor{
		Name: strings.TrimSpace(nameOf(certificate)), Fingerprint: hexSHA256(certificate.Raw),
		NotBefore: certificate.NotBefore, NotAfter: certificate.NotAfter,
	}
}

func lastExpired(bundle Bundle) Anchor {
	return slices.MaxFunc(bundle.Expired, func(a, b Anchor) int { return a.NotAfter.Compare(b.NotAfter) })
}
