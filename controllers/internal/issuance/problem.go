package issuance

import (
	"crypto/x509"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/daytwo-dev/daytwo/controllers/internal/truncate"
)

// Reasons of a Problem.
const (
	// ReasonRequestInvalid is about what was asked for: a name, usage or algorithm that no certificate can have.
	ReasonRequestInvalid = "RequestInvalid"
	// ReasonMissing is an empty text, which has to be there.
	ReasonMissing = "Missing"
	// ReasonNotPEM is a text that is no PEM, has something else around its blocks, or has a block that is cut off.
	ReasonNotPEM = "NotPEM"
	// ReasonUnexpectedBlock is a PEM block of another type, or one with headers.
	ReasonUnexpectedBlock = "UnexpectedBlock"
	// ReasonTooLarge is more than the limits of this package.
	ReasonTooLarge = "TooLarge"
	// ReasonPrivateKeyExposed is a private key among certificates, which everybody may read.
	ReasonPrivateKeyExposed = "PrivateKeyExposed"
	// ReasonCertificateUnreadable is a PEM block that holds no X.509 certificate, or something after it.
	ReasonCertificateUnreadable = "CertificateUnreadable"
	// ReasonKeyUnreadable is a PEM block that holds no private key in the form that its type says, or something after it.
	ReasonKeyUnreadable = "KeyUnreadable"
	// ReasonKeyEncrypted is a private key that needs a password.
	ReasonKeyEncrypted = "KeyEncrypted"
	// ReasonKeyUnsupported is a key of an algorithm, size or curve that is weak, too costly or unknown, in tls.key or in a certificate.
	ReasonKeyUnsupported = "KeyUnsupported"
	// ReasonKeyMismatch is a private key of another certificate.
	ReasonKeyMismatch = "KeyMismatch"
	// ReasonKeyAlgorithmDiffers is a key of another algorithm or size than was asked for.
	ReasonKeyAlgorithmDiffers = "KeyAlgorithmDiffers"
	// ReasonTemporary is cert-manager's own certificate, which stands in until the issuer has answered.
	ReasonTemporary = "Temporary"
	// ReasonWeakSignature is a signature with MD5, SHA-1 or an algorithm that is not known.
	ReasonWeakSignature = "WeakSignature"
	// ReasonLeafIsCA is a CA as the first certificate, so the intermediates come first or the certificate could sign others.
	ReasonLeafIsCA = "LeafIsCA"
	// ReasonNotCA is a certificate in the place of a CA that may not sign others.
	ReasonNotCA = "NotCA"
	// ReasonNamesMissing is a name that was asked for and is not there.
	ReasonNamesMissing = "NamesMissing"
	// ReasonNamesUnexpected is a name that nobody asked for.
	ReasonNamesUnexpected = "NamesUnexpected"
	// ReasonCommonNameDiffers is another common name than was asked for.
	ReasonCommonNameDiffers = "CommonNameDiffers"
	// ReasonUsageMissing is a usage that was asked for and that the certificate, or a CA above it, does not permit.
	ReasonUsageMissing = "UsageMissing"
	// ReasonChainLoops is a chain that has one CA twice, or whose last CA was signed by one before it.
	ReasonChainLoops = "ChainLoops"
	// ReasonChainOutOfOrder is a chain whose certificates belong together, but not in this order.
	ReasonChainOutOfOrder = "ChainOutOfOrder"
	// ReasonChainForeign is a chain with a certificate that did not sign the one before it, and no other one did.
	ReasonChainForeign = "ChainForeign"
	// ReasonChainUntrusted is a chain that does not lead to the CA.
	ReasonChainUntrusted = "ChainUntrusted"
	// ReasonChainInvalid is a chain that a CA's own rules forbid: names, path length, policies, a critical extension.
	ReasonChainInvalid = "ChainInvalid"
	// ReasonExpired is a certificate that has expired.
	ReasonExpired = "Expired"
	// ReasonChainExpired is an intermediate or a CA that has expired.
	ReasonChainExpired = "ChainExpired"
	// ReasonNotYetValid is a certificate that is not valid yet; Until says when it is.
	ReasonNotYetValid = "NotYetValid"
	// ReasonChainNotYetValid is an intermediate or a CA that is not valid yet; Until says when it is.
	ReasonChainNotYetValid = "ChainNotYetValid"
	// ReasonRequestUnreadable is a PKCS#10 request that cannot be read, or that its own key did not sign.
	ReasonRequestUnreadable = "RequestUnreadable"
	// ReasonExtensionRefused is an extension or an attribute of a request that certificates are not issued with.
	ReasonExtensionRefused = "ExtensionRefused"
	// ReasonSubjectRefused is a subject with more than a common name.
	ReasonSubjectRefused = "SubjectRefused"
	// ReasonCARequested is a request for the certificate of a CA.
	ReasonCARequested = "CARequested"
	// ReasonNoAnchors is a bundle of which nothing is left.
	ReasonNoAnchors = "NoAnchors"
)

const (
	// maxNameBytes and maxDetailBytes bound what is quoted of a certificate, and of an error of crypto/x509.
	maxNameBytes   = 64
	maxDetailBytes = 256
	// maxListed is how many names a message lists.
	maxListed = 3
)

// Problem says why something is not used. It holds nothing of a private key, and what it quotes is short.
type Problem struct {
	// Reason is one of the constants of this package.
	Reason string
	// Message says what is wrong and what to do.
	Message string
	// Until is when the same bytes may pass; zero for never.
	Until time.Time
}

// Error implements error.
func (p *Problem) Error() string { return p.Message }

func problemf(reason, format string, args ...any) *Problem {
	return &Problem{Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// nameOf is what people call a certificate, cut to a length that fits into a message or a status.
func nameOf(certificate *x509.Certificate) string {
	name := certificate.Subject.CommonName
	if name == "" && len(certificate.DNSNames) > 0 {
		name = certificate.DNSNames[0]
	}
	if name == "" {
		name = certificate.Subject.String()
	}
	return printable(name)
}

// printable takes out what may be in a certificate's name and has no place in a status, and cuts it.
func printable(text string) string { return truncate.Cut(plain(text), maxNameBytes) }

// detail is the text of an error of crypto/x509, which may quote names of certificates.
func detail(err error) string { return truncate.Message(plain(err.Error()), maxDetailBytes) }

func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
}

// describe names a certificate of tls.crt by its place in the file, counted from 1.
func describe(index int, certificate *x509.Certificate) string {
	if index == 0 {
		return fmt.Sprintf("the certificate %q", nameOf(certificate))
	}
	return fmt.Sprintf("certificate %d of %s (%q)", index+1, certificateFile, nameOf(certificate))
}

func describeAuthority(certificate *x509.Certificate) string {
	return fmt.Sprintf("the CA %q of %s", nameOf(certificate), authorityFile)
}
