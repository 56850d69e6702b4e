package issuance

import (
	"net/netip"
	"net/url"
	"slices"
)

// Request is what was asked for.
type Request struct {
	// CommonName; empty if none was asked for. Then the certificate may have one of the names as its common name, as
	// ACME issuers choose.
	CommonName string
	// DNSNames, IPAddresses, URIs and EmailAddresses are the subject alternative names. With the common name there is
	// at least one name, and at most MaxNames.
	DNSNames, IPAddresses, URIs, EmailAddresses []string
	// Usages are cert-manager's names, such as "digital signature" or "server auth". All that are asked for have to be there;
	// others may be.
	Usages []string
	// Algorithm is RSA, ECDSA or Ed25519; empty for any.
	Algorithm string
	// Size of the key in bits, for RSA and ECDSA; 0 for any.
	Size int
}

// wanted is a Request in normal form.
type wanted struct {
	commonName string
	names      []name
	usages     []usage
	algorithm  string
	size       int
}

func (r Request) normalize() (wanted, *Problem) {
	names, problem := r.names()
	if problem != nil {
		return wanted{}, problem
	}
	usages, problem := usagesOf(r.Usages)
	if problem != nil {
		return wanted{}, problem
	}
	if !slices.Contains([]string{"", AlgorithmRSA, AlgorithmECDSA, AlgorithmEd25519}, r.Algorithm) {
		return wanted{}, problemf(ReasonRequestInvalid, "the algorithm %q is not known: use RSA, ECDSA or Ed25519", printable(r.Algorithm))
	}
	return wanted{commonName: r.CommonName, names: names, usages: usages, algorithm: r.Algorithm, size: r.Size}, nil
}

func (r Request) names() ([]name, *Problem) {
	var names []name
	for _, text := range r.DNSNames {
		names = append(names, dnsName(text))
	}
	for _, text := range r.IPAddresses {
		address, err := netip.ParseAddr(text)
		if err != nil || address.Zone() != "" {
			return nil, problemf(ReasonRequestInvalid, "the IP address %q is none: write it as 192.0.2.1 or 2001:db8::1", printable(text))
		}
		names = append(names, ipName(address))
	}
	for _, text := range r.URIs {
		uri, err := url.Parse(text)
		if err != nil || uri.Scheme == "" {
			return nil, problemf(ReasonRequestInvalid, "the URI %q is none: write it as scheme://host/path", printable(text))
		}
		names = append(names, uriName(*uri))
	}
	for _, text := range r.EmailAddresses {
		names = append(names, emailName(text))
	}
	switch {
	case len(names) > MaxNames:
		return nil, problemf(ReasonRequestInvalid, "%d names are more than %d for one certificate: ask for several", len(names), MaxNames)
	case len(names) == 0 && r.CommonName == "":
		return nil, problemf(ReasonRequestInvalid, "a certificate without any name was asked for: ask for at least one")
	}
	return names, nil
}

// commonNames are the forms in which the common name may be among the other names, where many issuers repeat it.
func (w wanted) commonNames() []name {
	if w.commonName == "" {
		return nil
	}
	names := []name{dnsName(w.commonName), emailName(w.commonName)}
	if address, err := netip.ParseAddr(w.commonName); err == nil {
		names = append(names, ipName(address))
	}
	return names
}
