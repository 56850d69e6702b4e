// Package namepattern says which names of a certificate a pattern allows. A pattern is a name, in which one place may stand for
// others: the first label of a DNS name, a segment of the path of a URI, the mailbox of an email address, the host part of an IP
// address. Nothing stands for more than one label or segment, so that whoever reads a pattern sees what it allows. It is pure.
package namepattern

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Kind of a name.
type Kind string

// Kinds.
const (
	CommonName   Kind = "common name"
	DNSName      Kind = "DNS name"
	IPAddress    Kind = "IP address"
	URI          Kind = "URI"
	EmailAddress Kind = "email address"
)

// Check returns an error for a pattern that no name could match, or that is no pattern of its kind.
func Check(kind Kind, pattern string) error {
	switch kind {
	case CommonName:
		if strings.HasPrefix(pattern, "*.") {
			return checkDNSName(pattern)
		}
		return checkWhole(pattern)
	case DNSName:
		return checkDNSName(pattern)
	case IPAddress:
		_, err := networkOf(pattern)
		return err
	case URI:
		return checkURI(pattern)
	default:
		return checkEmailAddress(pattern)
	}
}

// Matches is whether a pattern that was checked allows a name, which is in the normal form of package issuance.
func Matches(kind Kind, pattern, name string) bool {
	switch kind {
	case CommonName, DNSName:
		return pattern == name || matchesLabel(pattern, name)
	case IPAddress:
		network, err := networkOf(pattern)
		address, errAddress := netip.ParseAddr(name)
		return err == nil && errAddress == nil && network.Contains(address.Unmap())
	case URI:
		return matchesURI(pattern, name)
	default:
		return pattern == name || matchesMailbox(pattern, name)
	}
}

// IsWide is whether a pattern, or a template of one, stands for more than one name.
func IsWide(kind Kind, pattern string) bool {
	return strings.Contains(pattern, "*") || kind == IPAddress && strings.Contains(pattern, "/")
}

var errStar = errors.New("it has \"*\" in another place than the one that may stand for others")

func checkWhole(pattern string) error {
	if strings.Contains(pattern, "*") {
		return errStar
	}
	return nil
}

func checkDNSName(pattern string) error {
	name := strings.TrimPrefix(pattern, "*.")
	if strings.Contains(name, "*") {
		return errStar
	}
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
		return fmt.Errorf("it is no DNS name in lower case: %s", problems[0])
	}
	return nil
}

// label is one of a DNS name. The underscore is in no host name, but in other names.
var label = regexp.MustCompile(`^[a-z0-9_]([-a-z0-9_]{0,61}[a-z0-9_])?$`)

func matchesLabel(pattern, name string) bool {
	parent, isPattern := strings.CutPrefix(pattern, "*.")
	first, rest, _ := strings.Cut(name, ".")
	return isPattern && rest == parent && (first == "*" || label.MatchString(first))
}

// networkOf reads an address as a network of one.
func networkOf(pattern string) (netip.Prefix, error) {
	if strings.Contains(pattern, "/") {
		network, err := netip.ParsePrefix(pattern)
		if err != nil || network != network.Masked() || network.Addr().Is4In6() {
			return netip.Prefix{}, errors.New("it is no network: write it as 10.0.0.0/8 or 2001:db8::/32, with zeros behind the prefix")
		}
		return network, nil
	}
	address, err := netip.ParseAddr(pattern)
	if err != nil || address.Zone() != "" {
		return netip.Prefix{}, errors.New("it is no IP address: write it as 192.0.2.1, 2001:db8::1 or 10.0.0.0/8")
	}
	address = address.Unmap()
	return netip.PrefixFrom(address, address.BitLen()), nil
}

func checkURI(pattern string) error {
	parsed, err := url.Parse(pattern)
	switch {
	case err != nil || parsed.Scheme == "":
		return errors.New("it is no URI: write it as scheme://host/path")
	case parsed.User != nil || strings.ContainsAny(pattern, "?#%"):
		return errors.New("it has a user, a query, a fragment or an escape: leave it out")
	case parsed.Scheme != strings.ToLower(parsed.Scheme) || parsed.Host != strings.ToLower(parsed.Host):
		return errors.New("scheme and host are in lower case in the names of certificates: write them so")
	}
	for i, segment := range strings.Split(pattern, "/") {
		if strings.Contains(segment, "*") && (segment != "*" || i < firstOfPath) {
			return errStar
		}
	}
	return nil
}

// firstOfPath is which part of scheme://host/path is the first of the path, when slashes divide it.
const firstOfPath = 3

func matchesURI(pattern, name string) bool {
	wanted, have := strings.Split(pattern, "/"), strings.Split(name, "/")
	if len(wanted) != len(have) || strings.ContainsAny(name, "?#%") {
		return false
	}
	for i, segment := range wanted {
		stands := segment == "*" && i >= firstOfPath && have[i] != "" && have[i] != "." && have[i] != ".."
		if segment != have[i] && !stands {
			return false
		}
	}
	return true
}

func checkEmailAddress(pattern string) error {
	mailbox, domain, is := strings.Cut(pattern, "@")
	if !is || mailbox == "" || domain == "" || strings.Contains(domain, "@") {
		return errors.New("it is no email address: write it as mailbox@domain, or *@domain")
	}
	if mailbox != "*" && strings.Contains(mailbox, "*") || strings.Contains(domain, "*") {
		return errStar
	}
	if domain != strings.ToLower(domain) {
		return errors.New("domains are in lower case in the names of certificates: write them so")
	}
	return nil
}

func matchesMailbox(pattern, name string) bool {
	domain, isPattern := strings.CutPrefix(pattern, "*@")
	mailbox, of, _ := strings.Cut(name, "@")
	return isPattern && mailbox != "" && of == domain
}
