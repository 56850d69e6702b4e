package kubeconfig

import (
	"crypto/tls"
	"fmt"
	"net/url"
	"slices"

	certutil "k8s.io/client-go/util/cert"
)

// finding is one field that a check looked at, and whether it is refused.
type finding struct {
	refused bool
	field   string
	problem string
	remedy  string
}

// check returns the first finding that is refused. A new rule is a new line in one of the lists.
func (s selection) check(opts Options) error {
	for _, list := range []struct {
		path     string
		findings []finding
	}{
		{fmt.Sprintf("clusters[%s]", s.clusterName), slices.Concat(s.checkServer(), s.checkTrust(), s.checkProxy(opts))},
		{fmt.Sprintf("users[%s]", s.userName), slices.Concat(s.checkIndirection(), s.checkCredentials())},
	} {
		for _, f := range list.findings {
			if f.refused {
				return &RefusedError{Field: list.path + f.field, Problem: f.problem, Remedy: f.remedy}
			}
		}
	}
	return nil
}

// maxServer is how long the URL of an API server may be, in bytes. The status of a TenantCluster shows it.
const maxServer = 2048

func (s selection) checkServer() []finding {
	server, err := url.Parse(s.cluster.Server)
	if err != nil {
		return []finding{{true, ".server", "is not a URL", "write it as https://host:port"}}
	}
	return []finding{
		{server.Scheme != "https", ".server", "does not use https", "write it as https://host:port"},
		{server.Hostname() == "", ".server", "names no host", "write it as https://host:port"},
		{server.User != nil, ".server", "holds a user name or password", "use a token or a client certificate"},
		{len(s.cluster.Server) > maxServer, ".server", fmt.Sprintf("has more than %d bytes", maxServer), "write it as https://host:port"},
		{server.RawQuery != "" || server.Fragment != "", ".server", "has a query or a fragment", "write it as https://host:port"},
	}
}

// checkTrust lets a cluster without CA data pass: its certificate is then held against the
// system's roots, which is how some managed clusters are reached.
func (s selection) checkTrust() []finding {
	c := s.cluster
	_, err := certutil.ParseCertsPEM(c.CertificateAuthorityData)
	return []finding{
		{c.InsecureSkipTLSVerify, ".insecure-skip-tls-verify", "would trust whoever answers", "remove it and set certificate-authority-data"},
		{c.CertificateAuthority != "", ".certificate-authority", "is a file path", "embed the file as certificate-authority-data (kubectl config view --flatten --raw)"},
		{len(c.CertificateAuthorityData) > 0 && err != nil, ".certificate-authority-data", "holds no readable certificate", "set it to the base64 of PEM certificates"},
	}
}

func (s selection) checkProxy(opts Options) []finding {
	if s.cluster.ProxyURL == "" {
		return nil
	}
	if !opts.AllowProxyURL {
		return []finding{{true, ".proxy-url", "is not permitted", "remove it, or ask the provider to run Daytwo with --allow-proxy-url"}}
	}
	proxy, err := url.Parse(s.cluster.ProxyURL)
	usable := err == nil && proxy.Hostname() != "" && slices.Contains([]string{"http", "https", "socks5"}, proxy.Scheme)
	return []finding{{!usable, ".proxy-url", "is not an http, https or socks5 URL", "write it as scheme://host:port"}}
}

// checkIndirection refuses whatever is not a credential itself but a way to come by one.
func (s selection) checkIndirection() []finding {
	const embed = "kubectl config view --flatten --raw"
	const remedy = "embed a token or a client certificate, of a service account for instance"
	const identity = "remove it and use credentials of the identity that Daytwo should act as"
	u := s.user
	return []finding{
		{u.Exec != nil, ".exec", "would run a program in the manager", remedy},
		{u.AuthProvider != nil, ".auth-provider", "would run an authentication plugin in the manager", remedy},
		{u.ClientCertificate != "", ".client-certificate", "is a file path", "embed the file as client-certificate-data (" + embed + ")"},
		{u.ClientKey != "", ".client-key", "is a file path", "embed the file as client-key-data (" + embed + ")"},
		{u.TokenFile != "", ".tokenFile", "is a file path", "embed the file's content as token"},
		{u.Username != "", ".username", "is basic authentication, which Kubernetes no longer has", remedy},
		{u.Password != "", ".password", "is basic authentication, which Kubernetes no longer has", remedy},
		{u.Impersonate != "", ".as", "would act as somebody else", identity},
		{u.ImpersonateUID != "", ".as-uid", "would act as somebody else", identity},
		{len(u.ImpersonateGroups) > 0, ".as-groups", "would act as somebody else", identity},
		{len(u.ImpersonateUserExtra) > 0, ".as-user-extra", "would act as somebody else", identity},
	}
}

func (s selection) checkCredentials() []finding {
	hasCert, hasKey := len(s.user.ClientCertificateData) > 0, len(s.user.ClientKeyData) > 0
	findings := []finding{
		{!hasCert && !hasKey && s.user.Token == "", "", "holds no credentials", "set token, or client-certificate-data and client-key-data"},
		{hasCert && !hasKey, ".client-key-data", "is missing", "add the key of client-certificate-data"},
		{hasKey && !hasCert, ".client-certificate-data", "is missing", "add the certificate of client-key-data"},
		{!isHeaderToken(s.user.Token), ".token", "holds a space, a line break or another character that no token has", "write it on one line, without quotes or spaces"},
	}
	if hasCert && hasKey {
		// The error is left out: it may quote the PEM's block types, which are the file's to choose.
		_, err := tls.X509KeyPair(s.user.ClientCertificateData, s.user.ClientKeyData)
		findings = append(findings, finding{
			err != nil, ".client-certificate-data", "and client-key-data are not a readable PEM pair that belongs together",
			"set both to the base64 of the PEM files of one certificate",
		})
	}
	return findings
}

// isHeaderToken reports whether the token can stand in an Authorization header (RFC 6750's
// alphabet is narrower; issuers use more of ASCII).
func isHeaderToken(token string) bool {
	for _, r := range token {
		if r <= ' ' || r > '~' {
			return false
		}
	}
	return true
}
