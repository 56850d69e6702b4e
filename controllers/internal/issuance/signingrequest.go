package issuance

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"encoding/asn1"
	"encoding/pem"
	"fmt"
	"slices"
	"time"
)

// MaxRequestBytes is how long a request is at most, in PEM. With an RSA key of 8192 bits and 100 DNS names of 60 bytes it takes
// 12 KiB.
const MaxRequestBytes = 24 << 10

// requestFile is what messages call a request.
const requestFile = "the request"

// SigningRequest is what a PKCS#10 request asks for.
type SigningRequest struct {
	// CommonName of the subject; empty if it has none. Nothing else is in the subject.
	CommonName string
	// DNSNames, IPAddresses, URIs and EmailAddresses are the subject alternative names in normal form, sorted.
	DNSNames, IPAddresses, URIs, EmailAddresses []string
	// Usages that the request names itself, in cert-manager's words; most name none.
	Usages []string
	// Algorithm of the key and its size in bits.
	Algorithm string
	Size      int
	// Public is the key, which has signed the request.
	Public crypto.PublicKey
}

// ReadRequest reads a request in PEM: one block of type CERTIFICATE REQUEST. It refuses what an issuer might come to understand in
// another way than it does: an extension or attribute that it does not know, one that is there twice, a name of a kind that
// nobody can allow, a subject with more than a common name. Its errors are *Problem.
func ReadRequest(data []byte) (SigningRequest, error) {
	request, problem := readRequest(data)
	if problem != nil {
		return SigningRequest{}, problem
	}
	return request, nil
}

func readRequest(data []byte) (SigningRequest, *Problem) {
	decoded, problem := decodeRequest(data)
	if problem != nil {
		return SigningRequest{}, problem
	}
	for _, check := range []func(*x509.CertificateRequest) *Problem{
		checkRequestKey, checkRequestSignature, checkSubject, checkAttributes, checkExtensions,
	} {
		if problem := check(decoded); problem != nil {
			return SigningRequest{}, problem
		}
	}
	names := namesIn(decoded.DNSNames, decoded.IPAddresses, decoded.URIs, decoded.EmailAddresses, decoded.Extensions)
	if problem := checkRequestNames(names); problem != nil {
		return SigningRequest{}, problem
	}
	request := SigningRequest{
		CommonName: decoded.Subject.CommonName, Public: decoded.PublicKey,
		DNSNames: valuesOf(kindDNS, names), IPAddresses: valuesOf(kindIP, names), URIs: valuesOf(kindURI, names), EmailAddresses: valuesOf(kindEmail, names),
	}
	request.Algorithm, request.Size = algorithmOf(decoded.PublicKey)
	request.Usages, problem = encodedUsages(decoded)
	return request, problem
}

// RequestTooLarge is the Problem of a request of so many bytes, for those who do not keep one that large.
func RequestTooLarge(size int) *Problem {
	return problemf(ReasonTooLarge, "%s has %d bytes, more than %d: ask for fewer names", requestFile, size, MaxRequestBytes)
}

func decodeRequest(data []byte) (*x509.CertificateRequest, *Problem) {
	if len(data) > MaxRequestBytes {
		return nil, RequestTooLarge(len(data))
	}
	block, text, rest, ok := nextBlock(data)
	if !ok || block == nil || len(bytes.TrimSpace(text)) > 0 || len(bytes.TrimSpace(rest)) > 0 || len(block.Headers) > 0 {
		return nil, problemf(ReasonNotPEM, "%s is not one PEM block without anything around it: write it so", requestFile)
	}
	return parseRequest(block)
}

func parseRequest(block *pem.Block) (*x509.CertificateRequest, *Problem) {
	if block.Type != "CERTIFICATE REQUEST" {
		return nil, problemf(ReasonUnexpectedBlock, "%s is a PEM block of type %q: write a CERTIFICATE REQUEST, of PKCS#10", requestFile, printable(block.Type))
	}
	decoded, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return nil, problemf(ReasonRequestUnreadable, "%s cannot be read (%s): make it again", requestFile, detail(err))
	}
	return decoded, nil
}

// checkRequestKey comes before the signature is checked: a huge key takes minutes.
func checkRequestKey(request *x509.CertificateRequest) *Problem {
	if flaw := flawOf(request.PublicKey); flaw != "" {
		return problemf(ReasonKeyUnsupported, "%s has %s", requestFile, flaw)
	}
	return nil
}

func checkRequestSignature(request *x509.CertificateRequest) *Problem {
	if !slices.Contains(strongSignatures, request.SignatureAlgorithm) {
		return problemf(ReasonWeakSignature, "%s is signed with a weak or unknown algorithm: sign it with SHA-256", requestFile)
	}
	if err := request.CheckSignature(); err != nil {
		return problemf(ReasonRequestUnreadable, "%s is not signed by its own key (%s): make it again", requestFile, detail(err))
	}
	return nil
}

var commonName = asn1.ObjectIdentifier{2, 5, 4, 3}

// checkSubject allows a common name. Whatever else is there an issuer may write into the certificate, and clients of a
// Kubernetes API server are in the groups that their organizations name.
func checkSubject(request *x509.CertificateRequest) *Problem {
	for i, attribute := range request.Subject.Names {
		_, isText := attribute.Value.(string)
		if i > 0 || !attribute.Type.Equal(commonName) || !isText {
			return problemf(ReasonSubjectRefused, "the subject of %s has more than one common name, by attribute %s: leave it out", requestFile, printable(attribute.Type.String()))
		}
	}
	return nil
}

// Attributes of a request (RFC 2985, section 5.4).
var (
	extensionRequest  = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 14}
	challengePassword = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 7}
	unstructuredName  = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 2}
)

// attributesOf reads the attributes, of which crypto/x509 leaves out what it does not understand.
type attributesOf struct {
	Version    int
	Subject    asn1.RawValue
	PublicKey  asn1.RawValue
	Attributes []struct {
		ID     asn1.ObjectIdentifier
		Values []asn1.RawValue `asn1:"set"`
	} `asn1:"tag:0,set"`
}

func checkAttributes(request *x509.CertificateRequest) *Problem {
	var read attributesOf
	if rest, err := asn1.Unmarshal(request.RawTBSCertificateRequest, &read); err != nil || len(rest) > 0 {
		return problemf(ReasonRequestUnreadable, "the attributes of %s cannot be read: make it again, with extensions alone", requestFile)
	}
	extensions := 0
	for _, attribute := range read.Attributes {
		switch {
		case attribute.ID.Equal(challengePassword), attribute.ID.Equal(unstructuredName):
		case attribute.ID.Equal(extensionRequest) && len(attribute.Values) == 1 && extensions == 0:
			extensions++
		default:
			return problemf(ReasonExtensionRefused, "%s has the attribute %s, or has it twice: leave it out", requestFile, printable(attribute.ID.String()))
		}
	}
	return nil
}

// Extensions of a certificate (RFC 5280, section 4.2.1).
var (
	keyUsage         = asn1.ObjectIdentifier{2, 5, 29, 15}
	extendedKeyUsage = asn1.ObjectIdentifier{2, 5, 29, 37}
	basicConstraints = asn1.ObjectIdentifier{2, 5, 29, 19}
)

func checkExtensions(request *x509.CertificateRequest) *Problem {
	for i, extension := range request.Extensions {
		for _, earlier := range request.Extensions[:i] {
			if earlier.Id.Equal(extension.Id) {
				return problemf(ReasonExtensionRefused, "%s has the extension %s twice: leave one out", requestFile, printable(extension.Id.String()))
			}
		}
		switch id := extension.Id; {
		case id.Equal(basicConstraints):
			if problem := checkBasicConstraints(extension.Value); problem != nil {
				return problem
			}
		case !id.Equal(subjectAlternativeName) && !id.Equal(keyUsage) && !id.Equal(extendedKeyUsage):
			return problemf(ReasonExtensionRefused, "%s has the extension %s, which no certificate gets: leave it out", requestFile, printable(id.String()))
		}
	}
	return nil
}

func checkBasicConstraints(value []byte) *Problem {
	var read struct {
		IsCA       bool `asn1:"optional"`
		MaxPathLen int  `asn1:"optional,default:-1"`
	}
	if rest, err := asn1.Unmarshal(value, &read); err != nil || len(rest) > 0 {
		return problemf(ReasonRequestUnreadable, "the basic constraints of %s cannot be read: leave them out", requestFile)
	}
	if read.IsCA || read.MaxPathLen >= 0 {
		return problemf(ReasonCARequested, "%s is for a CA, which could issue certificates for any name: ask for one that is none", requestFile)
	}
	return nil
}

func checkRequestNames(names []name) *Problem {
	if len(names) > MaxNames {
		return problemf(ReasonTooLarge, "%s has %d names, more than %d: ask for several certificates", requestFile, len(names), MaxNames)
	}
	for _, one := range names {
		if one.kind == kindOther {
			return problemf(ReasonNamesUnexpected, "%s has a %s, which nobody can allow: leave it out", requestFile, one)
		}
	}
	return nil
}

// encodedUsages are those that the request names itself.
func encodedUsages(request *x509.CertificateRequest) ([]string, *Problem) {
	var found []string
	for _, extension := range request.Extensions {
		var read []string
		var err error
		switch {
		case extension.Id.Equal(keyUsage):
			read, err = keyUsagesIn(extension.Value)
		case extension.Id.Equal(extendedKeyUsage):
			read, err = extendedUsagesIn(extension.Value)
		}
		if err != nil {
			return nil, problemf(ReasonExtensionRefused, "the usages that %s names cannot be read (%s): leave them out, and name them in spec.usages", requestFile, detail(err))
		}
		found = append(found, read...)
	}
	return found, nil
}

// keyUsagesIn reads the bits of a key usage (RFC 5280, section 4.2.1.3), of which bit 0 is the first of crypto/x509.
func keyUsagesIn(value []byte) ([]string, error) {
	var bits asn1.BitString
	if rest, err := asn1.Unmarshal(value, &bits); err != nil || len(rest) > 0 {
		return nil, fmt.Errorf("they are no bits")
	}
	var found []string
	for at := range bits.BitLength {
		if bits.At(at) == 0 {
			continue
		}
		known := slices.IndexFunc(usages, func(u usage) bool { return u.text != "signing" && u.bit == x509.KeyUsage(1)<<at && u.bit != 0 })
		if known < 0 {
			return nil, fmt.Errorf("bit %d is not known", at)
		}
		found = append(found, usages[known].text)
	}
	return found, nil
}

// extendedUsages are those that a policy can allow (RFC 5280, section 4.2.1.12).
var extendedUsages = map[string]string{
	"2.5.29.37.0": "any", "1.3.6.1.5.5.7.3.1": "server auth", "1.3.6.1.5.5.7.3.2": "client auth", "1.3.6.1.5.5.7.3.3": "code signing",
	"1.3.6.1.5.5.7.3.4": "email protection",
}

func extendedUsagesIn(value []byte) ([]string, error) {
	var ids []asn1.ObjectIdentifier
	if rest, err := asn1.Unmarshal(value, &ids); err != nil || len(rest) > 0 {
		return nil, fmt.Errorf("they are no list")
	}
	var found []string
	for _, id := range ids {
		text, known := extendedUsages[id.String()]
		if !known {
			return nil, fmt.Errorf("%s is not known", id)
		}
		found = append(found, text)
	}
	return found, nil
}

// Signed is what an issuer issued for a request, in PEM. Its key is somewhere else.
type Signed struct {
	// Certificate is the certificate, then its intermediates, as in a Material.
	Certificate []byte
	// CA is as in a Material.
	CA []byte
	// Public is the key of the request.
	Public crypto.PublicKey
}

// CheckSigned passes a certificate as Check does, for a key of which only the public part is known.
func CheckSigned(signed Signed, request Request, now time.Time) (Issued, error) {
	issued, problem := checkSigned(signed, request, now)
	if problem != nil {
		return Issued{}, problem
	}
	return issued, nil
}

func checkSigned(signed Signed, request Request, now time.Time) (Issued, *Problem) {
	wanted, problem := request.normalize()
	if problem != nil {
		return Issued{}, problem
	}
	parsed := Parsed{}
	if parsed.Chain, problem = parseCertificates("the certificate", signed.Certificate, MaxChain); problem != nil {
		return Issued{}, problem
	}
	if len(signed.CA) > 0 {
		if parsed.Authorities, problem = parseCertificates(authorityFile, signed.CA, MaxAuthorities); problem != nil {
			return Issued{}, problem
		}
	}
	return candidate{Parsed: parsed, wanted: wanted, now: now, public: signed.Public, keyName: "the key of the request"}.check()
}
