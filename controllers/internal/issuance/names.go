package issuance

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/daytwo-dev/daytwo/controllers/internal/truncate"
)

// Kinds of names.
const (
	kindDNS   = "DNS name"
	kindIP    = "IP address"
	kindURI   = "URI"
	kindEmail = "email address"
	// kindOther is a kind that cannot be asked for, such as a user principal name.
	kindOther = "name of type"
)

// name is a subject alternative name in normal form, in which equal names are equal texts.
type name struct{ kind, value string }

func (n name) String() string { return fmt.Sprintf("%s %q", n.kind, printable(n.value)) }

// dnsName ignores case and a final dot. A wildcard is a name like any other: *.example.com is not www.example.com.
func dnsName(text string) name {
	return name{kindDNS, strings.ToLower(strings.TrimSuffix(text, "."))}
}

// ipName takes an IPv4 address that is written as IPv6 as the IPv4 address, like crypto/x509.
func ipName(address netip.Addr) name { return name{kindIP, address.Unmap().String()} }

// uriName ignores the case of scheme and host (RFC 3986, section 6.2.2.1).
func uriName(uri url.URL) name {
	uri.Scheme, uri.Host = strings.ToLower(uri.Scheme), strings.ToLower(uri.Host)
	return name{kindURI, uri.String()}
}

// emailName ignores the case of the domain only (RFC 5321, section 2.4).
func emailName(text string) name {
	at := strings.LastIndexByte(text, '@') + 1
	return name{kindEmail, text[:at] + strings.ToLower(text[at:])}
}

// namesOf are the subject alternative names of a certificate.
func namesOf(certificate *x509.Certificate) []name {
	return namesIn(certificate.DNSNames, certificate.IPAddresses, certificate.URIs, certificate.EmailAddresses, certificate.Extensions)
}

func namesIn(dnsNames []string, addresses []net.IP, uris []*url.URL, emailAddresses []string, extensions []pkix.Extension) []name {
	var names []name
	for _, text := range dnsNames {
		names = append(names, dnsName(text))
	}
	for _, raw := range addresses {
		if address, ok := netip.AddrFromSlice(raw); ok {
			names = append(names, ipName(address))
		}
	}
	for _, uri := range uris {
		names = append(names, uriName(*uri))
	}
	for _, text := range emailAddresses {
		names = append(names, emailName(text))
	}
	return append(names, otherNames(extensions)...)
}

// countNames counts what namesOf returns, without making it.
func countNames(certificate *x509.Certificate) int {
	return len(certificate.DNSNames) + len(certificate.IPAddresses) + len(certificate.URIs) + len(certificate.EmailAddresses) +
		len(otherNames(certificate.Extensions))
}

var subjectAlternativeName = asn1.ObjectIdentifier{2, 5, 29, 17}

// otherNames are the names that crypto/x509 leaves out: the GeneralName of RFC 5280, section 4.2.1.6, except for the tags
// 1 (email), 2 (DNS), 6 (URI) and 7 (IP).
func otherNames(extensions []pkix.Extension) []name {
	var names []name
	for _, extension := range extensions {
		if !extension.Id.Equal(subjectAlternativeName) {
			continue
		}
		var sequence, entry asn1.RawValue
		if _, err := asn1.Unmarshal(extension.Value, &sequence); err != nil {
			continue
		}
		for rest := sequence.Bytes; len(rest) > 0; {
			var err error
			if rest, err = asn1.Unmarshal(rest, &entry); err != nil {
				return append(names, name{kindOther, "unknown"})
			}
			if !slices.Contains([]int{1, 2, 6, 7}, entry.Tag) {
				names = append(names, name{kindOther, fmt.Sprintf("%d of RFC 5280", entry.Tag)})
			}
		}
	}
	return names
}

// valuesOf are the names of a kind, sorted, each once.
func valuesOf(kind string, names []name) []string {
	var values []string
	for _, n := range names {
		if n.kind == kind {
			values = append(values, n.value)
		}
	}
	slices.Sort(values)
	return slices.Compact(values)
}

// without are the names that others does not have.
func without(names, others []name) []name {
	return slices.DeleteFunc(slices.Clone(names), func(n name) bool { return slices.Contains(others, n) })
}

// list names the first few.
func list(names []name) string {
	var texts []string
	for _, n := range names[:min(len(names), maxListed)] {
		texts = append(texts, n.String())
	}
	return truncate.First(texts, ", ", len(names))
}
