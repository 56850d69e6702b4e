package relay

import (
	"crypto"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/issuance"
	"github.com/daytwo-dev/daytwo/controllers/internal/namepattern"
	"github.com/daytwo-dev/daytwo/controllers/internal/truncate"
)

// Reasons of a denial, beside those of package issuance. They are the reason of the condition Denied in the cluster.
const (
	reasonRequestorNotAllowed = "RequestorNotAllowed"
	reasonNameNotAllowed      = "NameNotAllowed"
	reasonUsageNotAllowed     = "UsageNotAllowed"
	reasonKeyNotAllowed       = "KeyNotAllowed"
)

// denial says why a request is denied, and what to do.
type denial struct{ reason, message string }

func denied(reason, format string, args ...any) *denial {
	return &denial{reason, truncate.Cut(fmt.Sprintf(format, args...), maxMessage)}
}

// asked is what a request asks for, of one that the policy allows.
type asked struct {
	issuance.Request
	duration time.Duration
	public   crypto.PublicKey
}

// subject is a request while it is checked.
type subject struct {
	request
	*policy
	decoded issuance.SigningRequest
}

// checks are what a request has to pass that could be read.
var checks = []func(subject) *denial{
	subject.checkNames,
	subject.checkCommonName,
	subject.checkUsages,
	subject.checkKey,
}

// check passes a request that the policy allows. It is pure: the same request and the same policy give the same.
func check(r request, p *policy) (asked, *denial) {
	s := subject{request: r, policy: p}
	if refused := s.checkRequestor(); refused != nil {
		return asked{}, refused
	}
	decoded, err := s.read()
	var problem *issuance.Problem
	if errors.As(err, &problem) {
		return asked{}, denied(problem.Reason, "%s", problem.Message)
	}
	s.decoded = decoded
	for _, check := range checks {
		if refused := check(s); refused != nil {
			return asked{}, refused
		}
	}
	return s.asked(), nil
}

func (s subject) read() (issuance.SigningRequest, error) {
	if s.oversize > 0 {
		return issuance.SigningRequest{}, issuance.RequestTooLarge(s.oversize)
	}
	return issuance.ReadRequest(s.pem)
}

// serviceAccount begins the names of ServiceAccounts; namespace and name follow.
const serviceAccount = "system:serviceaccount:"

func (s subject) checkRequestor() *denial {
	allowed := s.requestors
	if allowed == nil {
		return nil
	}
	account, isAccount := strings.CutPrefix(s.username, serviceAccount)
	namespace, _, _ := strings.Cut(account, ":")
	if slices.Contains(allowed.Usernames, s.username) || isAccount && slices.Contains(allowed.ServiceAccountNamespaces, namespace) ||
		slices.ContainsFunc(s.groups, func(group string) bool { return slices.Contains(allowed.Groups, group) }) {
		return nil
	}
	return denied(reasonRequestorNotAllowed, "%q may make no requests for %s: let one make it that spec.requestPolicy.requestors of the bundle allows, or add this one there",
		printable(s.username), s.policy.signer)
}

// fields are those of a requestPolicy, by the kind of their names.
var fields = map[namepattern.Kind]string{
	namepattern.CommonName: "commonNames", namepattern.DNSName: "dnsNames", namepattern.IPAddress: "ipAddresses",
	namepattern.URI: "uris", namepattern.EmailAddress: "emailAddresses",
}

func (s subject) checkNames() *denial {
	for _, names := range []struct {
		kind  namepattern.Kind
		texts []string
	}{
		{namepattern.DNSName, s.decoded.DNSNames}, {namepattern.IPAddress, s.decoded.IPAddresses},
		{namepattern.URI, s.decoded.URIs}, {namepattern.EmailAddress, s.decoded.EmailAddresses},
	} {
		for _, name := range names.texts {
			if !s.allows(names.kind, name) {
				return s.nameNotAllowed(names.kind, name)
			}
		}
	}
	if s.decoded.CommonName == "" && len(s.names()) == 0 {
		return denied(reasonNameNotAllowed, "the request has no name: ask for one that spec.requestPolicy of the bundle allows")
	}
	return nil
}

// names of the request, beside its common name.
func (s subject) names() []string {
	return slices.Concat(s.decoded.DNSNames, s.decoded.IPAddresses, s.decoded.URIs, s.decoded.EmailAddresses)
}

func (s subject) allows(kind namepattern.Kind, name string) bool {
	return slices.ContainsFunc(s.allowed[kind], func(pattern string) bool { return namepattern.Matches(kind, pattern, name) })
}

// maxTold is how many patterns a denial names.
const maxTold = 3

func (s subject) nameNotAllowed(kind namepattern.Kind, name string) *denial {
	patterns := s.allowed[kind]
	told := "none is"
	if len(patterns) > 0 {
		told = truncate.Names(patterns, maxTold)
	}
	return denied(reasonNameNotAllowed, "the %s %q is not allowed in this cluster (%s): leave it out, or add it to spec.requestPolicy.%s of the bundle",
		kind, printable(name), told, fields[kind])
}

// checkCommonName allows one that is among the other names, which are allowed.
func (s subject) checkCommonName() *denial {
	name := s.decoded.CommonName
	if name == "" || slices.Contains(s.names(), name) || s.allows(namepattern.CommonName, name) {
		return nil
	}
	return s.nameNotAllowed(namepattern.CommonName, name)
}

func (s subject) checkUsages() *denial {
	if len(s.request.usages) == 0 {
		return denied(reasonUsageNotAllowed, "the request names no usages: name them in spec.usages")
	}
	for _, usage := range slices.Concat(s.request.usages, s.decoded.Usages) {
		if !slices.Contains(s.policy.usages, usage) {
			return denied(reasonUsageNotAllowed, "the usage %q is not allowed (%s): leave it out, or add it to spec.requestPolicy.usages of the bundle",
				printable(usage), strings.Join(s.policy.usages, ", "))
		}
	}
	return nil
}

func (s subject) checkKey() *denial {
	at := slices.IndexFunc(s.keys, func(key certificatesv1alpha1.AllowedKey) bool { return key.Algorithm == s.decoded.Algorithm })
	switch {
	case at < 0:
		return denied(reasonKeyNotAllowed, "keys of %s are not allowed: make one of another algorithm, or add it to spec.requestPolicy.keys of the bundle", s.decoded.Algorithm)
	case s.decoded.Size < int(s.keys[at].MinSize):
		return denied(reasonKeyNotAllowed, "the key has %d bits, and %s keys need %d: make a larger one", s.decoded.Size, s.decoded.Algorithm, s.keys[at].MinSize)
	}
	return nil
}

func (s subject) asked() asked {
	duration := s.maxDuration
	if s.expiration > 0 {
		duration = min(duration, s.expiration)
	}
	usages := slices.Clone(s.request.usages)
	slices.Sort(usages)
	return asked{
		Request: issuance.Request{
			CommonName: s.decoded.CommonName, DNSNames: s.decoded.DNSNames, IPAddresses: s.decoded.IPAddresses,
			URIs: s.decoded.URIs, EmailAddresses: s.decoded.EmailAddresses, Usages: slices.Compact(usages),
		},
		duration: duration, public: s.decoded.Public,
	}
}

// maxQuoted is how much of a name is quoted, in bytes.
const maxQuoted = 128

func printable(text string) string { return truncate.Cut(text, maxQuoted) }
