package issuance

import (
	"bytes"
	"crypto/x509"
	"errors"
	"slices"
	"time"
)

// errOtherIssuer is that a certificate names another issuer.
var errOtherIssuer = errors.New("names another issuer")

// signedBy returns nil if the parent signed the child and may, and x509.ConstraintViolationError if it may not.
func signedBy(child, parent *x509.Certificate) error {
	if !bytes.Equal(child.RawIssuer, parent.RawSubject) {
		return errOtherIssuer
	}
	return child.CheckSignatureFrom(parent)
}

func issuedBySelf(certificate *x509.Certificate) bool {
	return bytes.Equal(certificate.RawIssuer, certificate.RawSubject)
}

// selfSigned is true of certificates that are no CA, too, such as those of cert-manager's SelfSigned issuer.
func selfSigned(certificate *x509.Certificate) bool {
	return issuedBySelf(certificate) && certificate.CheckSignature(certificate.SignatureAlgorithm, certificate.RawTBSCertificate, certificate.Signature) == nil
}

// mayIssue is whether a certificate is one of a CA (RFC 5280, sections 4.2.1.3 and 4.2.1.9).
func mayIssue(certificate *x509.Certificate) bool {
	return certificate.BasicConstraintsValid && certificate.IsCA && (certificate.KeyUsage == 0 || certificate.KeyUsage&x509.KeyUsageCertSign != 0)
}

// sameEntity is whether two certificates are for the same name and key, whoever signed them.
func sameEntity(a, b *x509.Certificate) bool {
	return bytes.Equal(a.RawSubject, b.RawSubject) && bytes.Equal(a.RawSubjectPublicKeyInfo, b.RawSubjectPublicKeyInfo)
}

func (c candidate) checkRepetition() *Problem {
	for index, certificate := range c.Chain {
		if slices.ContainsFunc(c.Chain[:index], func(earlier *x509.Certificate) bool { return sameEntity(earlier, certificate) }) {
			return problemf(ReasonChainLoops, "%s has %q twice: leave the second one out", certificateFile, nameOf(certificate))
		}
	}
	return nil
}

// checkEnd finds CAs that sign each other, in a chain that is in order.
func (c candidate) checkEnd() *Problem {
	last := len(c.Chain) - 1
	for index := 1; index < last; index++ {
		if signedBy(c.Chain[last], c.Chain[index]) == nil {
			return problemf(ReasonChainLoops, "%s is the last one, but was signed by %q before it, so the chain has no end: put the CA's chain in order at the issuer",
				describe(last, c.Chain[last]), nameOf(c.Chain[index]))
		}
	}
	return nil
}

// checkOrder wants each certificate to be signed by the next one (RFC 8446, section 4.4.2). Verify does not care for the order, but
// some clients do.
func (c candidate) checkOrder() *Problem {
	for index, certificate := range c.Chain[:len(c.Chain)-1] {
		next := c.Chain[index+1]
		err := signedBy(certificate, next)
		if err == nil {
			continue
		}
		if errors.As(err, new(x509.ConstraintViolationError)) {
			return problemf(ReasonNotCA, "%s signed %q, but is no CA: look at the issuer", describe(index+1, next), nameOf(certificate))
		}
		if slices.ContainsFunc(c.Chain, func(other *x509.Certificate) bool { return signedBy(certificate, other) == nil }) {
			return problemf(ReasonChainOutOfOrder, "%s did not sign the one before it, %q, but another one did: let the issuer put each certificate before the one that signed it",
				describe(index+1, next), nameOf(certificate))
		}
		return problemf(ReasonChainForeign, "%s did not sign the one before it, %q: leave it out, or put the CA of %q there",
			describe(index+1, next), nameOf(certificate), nameOf(certificate))
	}
	return nil
}

// checkAuthorities takes the certificate itself for its CA if it signed itself, as cert-manager's SelfSigned issuer writes it.
func (c candidate) checkAuthorities() *Problem {
	for _, authority := range c.Authorities {
		isItself := authority.Equal(c.Chain[0]) && selfSigned(authority)
		if !mayIssue(authority) && !isItself {
			return problemf(ReasonNotCA, "%q in %s is no CA and cannot sign certificates: put the CA there that signed the chain", nameOf(authority), authorityFile)
		}
	}
	return nil
}

func (c candidate) checkExpired() *Problem {
	for index, certificate := range c.Chain {
		if c.now.After(certificate.NotAfter) {
			return problemf(firstReason(index, ReasonExpired, ReasonChainExpired), "%s expired at %s: renew it",
				describe(index, certificate), timestamp(certificate.NotAfter))
		}
	}
	return nil
}

func (c candidate) checkNotYetValid() *Problem {
	latest := c.latest()
	certificate := c.Chain[latest]
	if !c.now.Before(certificate.NotBefore) {
		return nil
	}
	problem := problemf(firstReason(latest, ReasonNotYetValid, ReasonChainNotYetValid), "%s is valid from %s on only: wait, or compare the clocks of issuer and manager",
		describe(latest, certificate), timestamp(certificate.NotBefore))
	problem.Until = certificate.NotBefore
	return problem
}

// latest is the place of the certificate in the chain that becomes valid last.
func (c candidate) latest() int {
	latest := 0
	for index, certificate := range c.Chain {
		if certificate.NotBefore.After(c.Chain[latest].NotBefore) {
			latest = index
		}
	}
	return latest
}

// verify builds the chains to the CA. It looks at the time from which the whole of tls.crt is valid, if that is later than now: what is
// wrong with the chain is told before anybody waits for it.
func (c candidate) verify() ([][]*x509.Certificate, *Problem) {
	at := c.now
	if from := c.Chain[c.latest()].NotBefore; from.After(at) {
		at = from
	}
	roots, intermediates := x509.NewCertPool(), x509.NewCertPool()
	for _, authority := range c.authorities() {
		roots.AddCert(authority)
	}
	for _, certificate := range c.Chain[1:] {
		intermediates.AddCert(certificate)
	}
	chains, err := c.Chain[0].Verify(x509.VerifyOptions{
		Roots: roots, Intermediates: intermediates, CurrentTime: at, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny},
	})
	if err == nil {
		return chains, nil
	}
	return nil, c.explain(err, at)
}

// explain says why no chain was valid at that time.
func (c candidate) explain(err error, at time.Time) *Problem {
	var invalid x509.CertificateInvalidError
	untimely := errors.As(err, &invalid) && invalid.Reason == x509.Expired
	unknown := errors.As(err, new(x509.UnknownAuthorityError))
	if untimely || unknown {
		if problem := c.checkAuthorityTimes(at); problem != nil {
			return problem
		}
	}
	switch {
	case untimely:
		return problemf(ReasonChainExpired, "%s and its chain are never valid at the same time: renew the CAs of the issuer, and have it issued again", describe(0, c.Chain[0]))
	case unknown:
		return problemf(ReasonChainUntrusted, "the chain of %s does not lead to a CA of %s (%s): put all intermediates into %s, and the CA that signed the last one into %s",
			describe(0, c.Chain[0]), authorityFile, detail(err), certificateFile, authorityFile)
	}
	return problemf(ReasonChainInvalid, "the chain of %s is forbidden by its own rules (%s): look at the issuer", describe(0, c.Chain[0]), detail(err))
}

// authorities are the CAs, or the last certificate of the chain where there are none.
func (c candidate) authorities() []*x509.Certificate {
	if len(c.Authorities) == 0 {
		return c.Chain[len(c.Chain)-1:]
	}
	return c.Authorities
}

// checkAuthorityTimes explains a failure by CAs that signed the chain and are not valid at that time.
func (c candidate) checkAuthorityTimes(at time.Time) *Problem {
	var problem *Problem
	for _, authority := range c.Authorities {
		if !slices.ContainsFunc(c.Chain, func(certificate *x509.Certificate) bool { return signedBy(certificate, authority) == nil }) {
			continue
		}
		switch {
		case at.Before(authority.NotBefore):
			problem = problemf(ReasonChainNotYetValid, "%s is valid from %s on only: wait, or compare the clocks of issuer and manager",
				describeAuthority(authority), timestamp(authority.NotBefore))
			problem.Until = authority.NotBefore
			return problem
		case at.After(authority.NotAfter):
			problem = problemf(ReasonChainExpired, "%s expired at %s: renew it, and all that it signed", describeAuthority(authority), timestamp(authority.NotAfter))
		}
	}
	return problem
}

func firstReason(index int, first, others string) string {
	if index == 0 {
		return first
	}
	return others
}

func timestamp(at time.Time) string { return at.UTC().Format(time.RFC3339) }
