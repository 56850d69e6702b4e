package kubeconfig

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	certutil "k8s.io/client-go/util/cert"
)

// Access is how one cluster is reached, as Parse found it. It prints, logs and marshals without
// its credentials.
type Access struct {
	// Server is the https URL of the API server.
	Server string
	// TLSServerName is the name that the server's certificate is checked for; empty for the host of Server.
	TLSServerName string
	// CAData is PEM; empty means the system's roots.
	CAData []byte
	// CertData and KeyData are PEM, both set or both empty.
	CertData []byte `json:"-"`
	KeyData  []byte `json:"-"`
	// Token is a bearer token, or empty.
	Token string `json:"-"`
	// ProxyURL has scheme http, https or socks5, or is empty. It may hold a password.
	ProxyURL string `json:"-"`
}

// Sorts of credentials, for people.
const (
	ClientCertificate = "client certificate"
	Token             = "token"
)

// ExpiresAt returns when the first of the credentials ends: the client certificate, or the token
// if it is a JWT with an `exp` claim. False means that none of them says. The JWT's signature is
// not checked: its issuer's key is not known here, and the time is only told, never relied upon.
func (a Access) ExpiresAt() (time.Time, bool) {
	_, at, known := a.FirstToExpire()
	return at, known
}

// FirstToExpire returns which sort of credential ends first, and when, as ExpiresAt does.
func (a Access) FirstToExpire() (sort string, at time.Time, known bool) {
	cert, hasCert := certificateExpiry(a.CertData)
	token, hasToken := tokenExpiry(a.Token)
	if !hasCert || (hasToken && token.Before(cert)) {
		return Token, token, hasToken
	}
	return ClientCertificate, cert, true
}

func certificateExpiry(pem []byte) (time.Time, bool) {
	certs, err := certutil.ParseCertsPEM(pem)
	if err != nil {
		return time.Time{}, false
	}
	// The leaf comes first; an intermediate that ends sooner breaks the chain as well.
	earliest := certs[0].NotAfter
	for _, cert := range certs[1:] {
		if cert.NotAfter.Before(earliest) {
			earliest = cert.NotAfter
		}
	}
	return earliest, true
}

// maxUnix is the last second of the year 9999, the last that RFC 3339 and so the API can hold.
const maxUnix = 253402300799

func tokenExpiry(token string) (time.Time, bool) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return time.Time{}, false
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return time.Time{}, false
	}
	var claims struct {
		Expires float64 `json:"exp"` // RFC 7519: seconds since 1970, may have a fraction
	}
	if err := json.Unmarshal(payload, &claims); err != nil || claims.Expires <= 0 || claims.Expires > maxUnix {
		return time.Time{}, false
	}
	return time.Unix(int64(claims.Expires), 0).UTC(), true
}

// Fingerprint is the hex SHA-256 of every field: equal exactly for equal Accesses. It is one-way
// and may be logged, but a short or guessable token could be confirmed with it.
func (a Access) Fingerprint() string {
	hash := sha256.New()
	for _, field := range [][]byte{
		[]byte(a.Server), []byte(a.TLSServerName), a.CAData, a.CertData, a.KeyData, []byte(a.Token), []byte(a.ProxyURL),
	} {
		// The length keeps a byte that moves from one field to the next from going unnoticed.
		hash.Write(binary.BigEndian.AppendUint64(nil, uint64(len(field))))
		hash.Write(field)
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// RESTConfig returns a new client configuration that holds nothing but this Access. Client-side
// rate limiting is off (QPS -1): the API server's priority and fairness decides. Nothing in it can run a
// program: it has no exec provider, and Parse refuses kubeconfigs with one.
func (a Access) RESTConfig() *rest.Config {
	config := &rest.Config{
		Host:        a.Server,
		BearerToken: a.Token,
		QPS:         -1,
		TLSClientConfig: rest.TLSClientConfig{
			ServerName: a.TLSServerName,
			CAData:     a.CAData,
			CertData:   a.CertData,
			KeyData:    a.KeyData,
		},
	}
	if a.ProxyURL != "" {
		config.Proxy = func(*http.Request) (*url.URL, error) { return url.Parse(a.ProxyURL) }
	}
	return config
}

// String names the server and the sorts of credentials, and none of their values.
func (a Access) String() string {
	var credentials []string
	if len(a.CertData) > 0 {
		credentials = append(credentials, ClientCertificate)
	}
	if a.Token != "" {
		credentials = append(credentials, Token)
	}
	return fmt.Sprintf("%s (%s)", a.Server, strings.Join(credentials, ", "))
}

// GoString keeps %#v from printing credentials.
func (a Access) GoString() string { return "kubeconfig.Access{" + a.String() + "}" }

// MarshalLog keeps structured logs (logr.Marshaler) from printing credentials.
func (a Access) MarshalLog() any { return a.String() }

// Kubeconfig returns a kubeconfig that holds nothing but this Access. Its cluster, user and context have the given name. The same
// Access gives the same bytes.
func (a Access) Kubeconfig(name string) ([]byte, error) {
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{
		Server: a.Server, TLSServerName: a.TLSServerName, CertificateAuthorityData: a.CAData, ProxyURL: a.ProxyURL,
	}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{ClientCertificateData: a.CertData, ClientKeyData: a.KeyData, Token: a.Token}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	config.CurrentContext = name
	return clientcmd.Write(*config)
}
