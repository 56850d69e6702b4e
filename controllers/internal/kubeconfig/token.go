package kubeconfig

import (
	"bytes"
	"errors"
	"time"
)

// MaxTokenBytes is the size of a token, in bytes, beyond which it is refused. Those of ServiceAccounts have about 1 KiB; one
// that is larger than a header may be cannot be sent.
const MaxTokenBytes = 16 << 10

// ErrToken tells that something is no token that could be sent to an API server. It holds nothing of it.
var ErrToken = errors.New("it is empty, longer than 16 KiB, or holds a character that no token has")

// WithToken returns an Access to the same server, with a token in the place of all other credentials.
func (a Access) WithToken(token string) (Access, error) {
	if token == "" || len(token) > MaxTokenBytes || !isHeaderToken(token) {
		return Access{}, ErrToken
	}
	a.CertData, a.KeyData, a.Token = nil, nil, token
	return a, nil
}

// LeadsWhere says whether another Access leads to the same address, checked in the same way. Credentials may differ.
func (a Access) LeadsWhere(other Access) bool {
	return a.Server == other.Server && a.TLSServerName == other.TLSServerName && a.ProxyURL == other.ProxyURL && bytes.Equal(a.CAData, other.CAData)
}

// TokenExpiry returns when a token ends, if it is a JWT with an `exp` claim. Like that of ExpiresAt, the time is the token's
// word alone.
func TokenExpiry(token string) (time.Time, bool) { return tokenExpiry(token) }
