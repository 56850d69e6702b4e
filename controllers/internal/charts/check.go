package charts

import (
	"crypto/x509"
	"net/url"
	"regexp"
	"strings"

	"oras.land/oras-go/v2/registry"
)

const digestPrefix = "sha256:"

var (
	digestPattern = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
	// namePattern is that of Helm's chart names, less those that begin with a dot or a dash.
	namePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,249}$`)
)

// request is a Source that was checked and taken apart.
type request struct {
	Source
	wanted wanted
	roots  *x509.CertPool // nil for the system's
	// oci has the registry's reference; without it, base is the URL of the repository, with a slash
	// at its end.
	oci  *registry.Reference
	base *url.URL
	// host has a port if Repository has one. It is the only one that gets the credentials.
	host string
}

// check doesn't reach for the network. Every error of it is an *Error.
func check(source Source) (*request, error) {
	r := &request{Source: source}
	for _, step := range []func() error{r.checkName, r.checkRepository, r.checkVersion, r.checkDigest, r.checkTrust, r.checkCredentials} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (r *request) checkName() error {
	if !namePattern.MatchString(r.Name) {
		return invalidSource("the chart's name %s is not one: use letters, digits, dots, dashes and underscores", quote(r.Name))
	}
	return nil
}

func (r *request) checkRepository() error {
	// No message quotes the URL or the parser's error: either could hold a password.
	const form = "write it as https://host/path or oci://host/path"
	u, err := url.Parse(r.Repository)
	if err != nil || u.Opaque != "" {
		return invalidSource("the chart's repository is not a URL: %s", form)
	}
	switch {
	case u.User != nil:
		return refused("the chart's repository holds a user name or password: take it out of the URL, and name a Secret with it instead")
	case u.Scheme != "https" && u.Scheme != "oci":
		return refused("the chart's repository does not use https or oci: %s", form)
	case u.Hostname() == "":
		return invalidSource("the chart's repository names no host: %s", form)
	case u.RawQuery != "" || u.Fragment != "":
		return invalidSource("the chart's repository has a query or a fragment: %s", form)
	}
	if u.Scheme == "oci" {
		return r.useRegistry(u)
	}
	u.Host = strings.ToLower(u.Host)
	r.base = u.JoinPath("/")
	r.host = u.Host
	return nil
}

func (r *request) useRegistry(u *url.URL) error {
	reference := registry.Reference{
		Registry:   strings.ToLower(u.Host),
		Repository: strings.TrimPrefix(strings.Trim(u.Path, "/")+"/"+r.Name, "/"),
	}
	if err := reference.Validate(); err != nil {
		return invalidSource("%s is not the name of a repository in a registry: use lower-case letters, digits, dots, dashes and slashes, and no tag",
			quote(reference.Repository))
	}
	r.oci = &reference
	r.host = reference.Host()
	return nil
}

func (r *request) checkVersion() (err error) {
	r.wanted, err = parseWanted(r.Version)
	return err
}

func (r *request) checkDigest() error {
	if r.Digest != "" && !digestPattern.MatchString(r.Digest) {
		return invalidSource("the chart's digest is not one: write it as sha256: and 64 digits of lower-case hex")
	}
	return nil
}

func (r *request) checkTrust() error {
	if len(r.CA) == 0 {
		return nil
	}
	r.roots = x509.NewCertPool()
	if !r.roots.AppendCertsFromPEM(r.CA) {
		return invalidSource("the CA for the chart's repository holds no readable certificate: set it to PEM certificates")
	}
	return nil
}

func (r *request) checkCredentials() error {
	if r.Credentials == nil {
		return nil
	}
	return r.Credentials.check()
}

// location is the repository in the form that all ways to write it have in common.
func (r *request) location() string {
	if r.oci != nil {
		return "oci://" + strings.TrimSuffix(r.oci.String(), "/"+r.Name)
	}
	return strings.TrimSuffix(r.base.String(), "/")
}

// subject names the chart and where it should be, for messages.
func (r *request) subject() string { return "chart " + r.Name + " in " + r.location() }
