package issuance

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"strings"
)

const certificateType = "CERTIFICATE"

var beginning = []byte("-----BEGIN")

// nextBlock returns the first PEM block, the text before it, and what follows it. Unlike pem.Decode it skips no block that is cut off
// or otherwise broken, and returns false for one. Without any block all of the data is text.
func nextBlock(data []byte) (block *pem.Block, text, rest []byte, ok bool) {
	at := bytes.Index(data, beginning)
	if at < 0 {
		return nil, data, nil, true
	}
	text, data = data[:at], data[at:]
	if at > 0 && text[at-1] != '\n' {
		return nil, text, nil, false
	}
	block, rest = pem.Decode(data)
	if block == nil || bytes.Count(data[:len(data)-len(rest)], beginning) != 1 {
		return nil, text, nil, false
	}
	return block, text, rest, true
}

// blocks returns the PEM blocks of a file, in which nothing else may be.
func blocks(file string, data []byte, maxBytes, maxBlocks int) ([]*pem.Block, *Problem) {
	if len(data) > maxBytes {
		return nil, problemf(ReasonTooLarge, "%s has %d bytes, more than %d: leave out what does not belong there", file, len(data), maxBytes)
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, problemf(ReasonMissing, "%s is empty: look at the issuer, which has to fill it", file)
	}
	var found []*pem.Block
	for len(data) > 0 {
		block, text, rest, ok := nextBlock(data)
		switch {
		case !ok:
			return nil, problemf(ReasonNotPEM, "%s has a PEM block that is broken or cut off, after %d whole ones: have it issued again", file, len(found))
		case len(bytes.TrimSpace(text)) > 0:
			return nil, problemf(ReasonNotPEM, "%s has something else than PEM blocks, after %d of them: leave it out", file, len(found))
		case block == nil:
			return found, nil
		case len(found) == maxBlocks:
			return nil, problemf(ReasonTooLarge, "%s has more than %d PEM blocks: leave out what does not belong there", file, maxBlocks)
		}
		found, data = append(found, block), rest
	}
	return found, nil
}

// parseCertificates reads a file of certificates.
func parseCertificates(file string, data []byte, most int) ([]*x509.Certificate, *Problem) {
	found, problem := blocks(file, data, MaxCertificateBytes, most)
	if problem != nil {
		return nil, problem
	}
	certificates := make([]*x509.Certificate, 0, len(found))
	for index, block := range found {
		certificate, problem := parseCertificate(file, index, block)
		if problem != nil {
			return nil, problem
		}
		certificates = append(certificates, certificate)
	}
	return certificates, nil
}

// parseCertificate reads a block, the index of which is counted from 0.
func parseCertificate(file string, index int, block *pem.Block) (*x509.Certificate, *Problem) {
	if problem := checkBlock(file, index, block); problem != nil {
		return nil, problem
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, problemf(ReasonCertificateUnreadable, "certificate %d of %s cannot be read (%s): have it issued again",
			index+1, file, detail(err))
	}
	if count := countNames(certificate); count > MaxNames {
		return nil, problemf(ReasonTooLarge, "certificate %d of %s has %d names, more than %d: ask for several certificates", index+1, file, count, MaxNames)
	}
	if bits := certificate.SerialNumber.BitLen(); bits > 8*MaxSerialBytes {
		return nil, problemf(ReasonTooLarge, "certificate %d of %s has a serial number of %d bits, more than the %d of RFC 5280: look at the issuer",
			index+1, file, bits, 8*MaxSerialBytes)
	}
	return certificate, nil
}

// checkBlock refuses what is no certificate. It quotes the type of no block that may be secret.
func checkBlock(file string, index int, block *pem.Block) *Problem {
	switch {
	case strings.Contains(block.Type, "PRIVATE KEY"):
		return problemf(ReasonPrivateKeyExposed, "block %d of %s is a private key among certificates, which many may read: "+
			"take it out, and have the certificate issued again with a new key", index+1, file)
	case block.Type != certificateType:
		return problemf(ReasonUnexpectedBlock, "block %d of %s is %q and no CERTIFICATE: leave it out", index+1, file, printable(block.Type))
	case len(block.Headers) > 0:
		return problemf(ReasonUnexpectedBlock, "block %d of %s has PEM headers, which certificates do not have: leave them out", index+1, file)
	}
	return nil
}
