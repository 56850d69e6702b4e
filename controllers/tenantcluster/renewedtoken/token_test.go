package renewedtoken

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/kubeconfig"
)

var (
	now       = time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
	ownAccess = kubeconfig.Access{Server: "https://blue.example", Token: "own"}
	renewedBy = tenancyv1alpha1.ServiceAccountReference{Namespace: "kube-system", Name: "daytwo"}
)

// aged is a token of seven days that was minted some time ago.
func aged(age time.Duration) *Token {
	access, err := ownAccess.WithToken("renewed")
	if err != nil {
		panic(err)
	}
	return &Token{Access: access, Account: renewedBy.String(), MintedAt: now.Add(-age), ExpiresAt: now.Add(Life - age)}
}

func TestTheTokenWinsUnlessItWasRefused(t *testing.T) {
	token, own := aged(time.Hour).Access.Fingerprint(), ownAccess.Fingerprint()
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	expired := ownAccess
	expired.Token = "e30." + base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"exp":%d}`, ago(time.Minute).Unix())) + ".e30"
	for name, c := range map[string]struct {
		token   *Token
		own     kubeconfig.Access
		refused Refusals
		linked  string
		want    bool
	}{
		"there is none":                            {nil, ownAccess, nil, own, false},
		"it is good":                               {aged(time.Hour), ownAccess, nil, own, true},
		"it has expired":                           {aged(Life), ownAccess, nil, token, false},
		"it is of the future":                      {aged(-time.Hour), ownAccess, nil, token, false},
		"it was refused":                           {aged(time.Hour), ownAccess, Refusals{token: now}, token, false},
		"it was refused long ago":                  {aged(time.Hour), ownAccess, Refusals{token: ago(time.Hour)}, own, false},
		"it was refused, and the others expired":   {aged(time.Hour), expired, Refusals{token: now}, token, true},
		"both were refused, the others just now":   {aged(time.Hour), ownAccess, Refusals{token: ago(time.Minute), own: now}, own, false},
		"both were refused, the others for a time": {aged(time.Hour), ownAccess, Refusals{token: ago(RefusalLasts), own: now}, own, true},
		"both were refused, it just now":           {aged(time.Hour), ownAccess, Refusals{token: now, own: ago(time.Minute)}, token, true},
		"both were refused, it for a time":         {aged(time.Hour), ownAccess, Refusals{token: now, own: ago(RefusalLasts)}, token, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Preferred(c.token, c.own, c.refused, c.linked, now); got != c.want {
				t.Errorf("the token is used: %t", got)
			}
		})
	}
}

// What the Secret holds may be anybody's.
func TestOnlyATokenIsTakenFromItsSecret(t *testing.T) {
	good := func() *corev1.Secret {
		return &corev1.Secret{Type: tenancyv1alpha1.SecretTypeRenewedToken, Data: aged(time.Hour).Data(ownAccess)}
	}
	read := Read(good(), ownAccess)
	if read == nil || read.Account != renewedBy.String() || !read.MintedAt.Equal(now.Add(-time.Hour)) || !read.ExpiresAt.Equal(now.Add(Life-time.Hour)) || read.Access.Token != "renewed" {
		t.Fatalf("got %+v", read)
	}
	for name, change := range map[string]func(*corev1.Secret){
		"another type":               func(s *corev1.Secret) { s.Type = corev1.SecretTypeOpaque },
		"of another kubeconfig":      func(s *corev1.Secret) { s.Data[KeyKubeconfig] = []byte("other") },
		"without a token":            func(s *corev1.Secret) { delete(s.Data, KeyToken) },
		"a token of two lines":       func(s *corev1.Secret) { s.Data[KeyToken] = []byte("a\nHost: b") },
		"a token that is too long":   func(s *corev1.Secret) { s.Data[KeyToken] = []byte(strings.Repeat("a", kubeconfig.MaxTokenBytes+1)) },
		"without a time":             func(s *corev1.Secret) { delete(s.Data, KeyMintedAt) },
		"a time that nobody reads":   func(s *corev1.Secret) { s.Data[KeyExpiresAt] = []byte("tomorrow") },
		"an end before its begin":    func(s *corev1.Secret) { s.Data[KeyExpiresAt] = []byte("2020-01-01T00:00:00Z") },
		"nothing":                    func(s *corev1.Secret) { s.Data = nil },
		"a token that ended by then": func(s *corev1.Secret) { s.Data[KeyToken] = jwt(now.Add(-2 * time.Hour)) },
	} {
		secret := good()
		change(secret)
		if got := Read(secret, ownAccess); got != nil {
			t.Errorf("%s: got %+v", name, got)
		}
	}
	forged := good()
	forged.Data[KeyExpiresAt] = []byte("2999-01-01T00:00:00Z")
	forged.Data["server"], forged.Data["value"] = []byte("https://green.example"), []byte("apiVersion: v1\nkind: Config")
	if got := Read(forged, ownAccess); got == nil || got.ExpiresAt.After(got.MintedAt.Add(Life)) || !got.Access.LeadsWhere(ownAccess) {
		t.Errorf("got %+v", got)
	}
	forged.Data[KeyToken] = jwt(now.Add(time.Hour))
	if got := Read(forged, ownAccess); got == nil || !got.ExpiresAt.Equal(now.Add(time.Hour)) {
		t.Errorf("the token's own word does not count: %+v", got)
	}
}

func jwt(expires time.Time) []byte {
	return []byte("e30." + base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"exp":%d}`, expires.Unix())) + ".e30")
}
