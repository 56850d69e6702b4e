package registry

import (
	"crypto/subtle"
	"net/http"
)

// admit tells whether a request may go on.
func (o Options) admit(r *http.Request) bool {
	if o.Username == "" {
		return true
	}
	username, password, _ := r.BasicAuth()
	return same(username, o.Username) && same(password, o.Password)
}

func same(got, want string) bool {
	return subtle.ConstantTimeCompare([]byte(got), []byte(want)) == 1
}
