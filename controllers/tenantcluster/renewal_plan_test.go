package tenantcluster

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/kubeconfig"
)

var (
	ownAccess = kubeconfig.Access{Server: "https://blue.example", Token: "own"}
	renewedBy = tenancyv1alpha1.ServiceAccountReference{Namespace: "kube-system", Name: "daytwo"}
)

// tokenAged is a token of seven days that was minted some time ago.
func tokenAged(age time.Duration) *renewedToken {
	access, err := ownAccess.WithToken("renewed")
	if err != nil {
		panic(err)
	}
	return &renewedToken{access: access, account: renewedBy.String(), mintedAt: now.Add(-age), expiresAt: now.Add(tokenLife - age)}
}

// renewedSettled is a TenantCluster that is connected with a token.
func renewedSettled() observation {
	o := settled()
	o.cluster.Spec.KubeconfigRef.Renew = &tenancyv1alpha1.CredentialsRenewal{ServiceAccount: renewedBy}
	o.renewal = renewal{account: &renewedBy, secret: heldMetadata("prod-renewed-token"), token: tokenAged(time.Hour), inUse: true}
	o.credentials.own, o.credentials.access = ownAccess, o.renewal.token.access
	return o
}

func TestWhenATokenIsRequested(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*observation)
		want   bool
	}{
		"not while the one at hand is new": {func(*observation) {}, false},
		"at half of its life":              {func(o *observation) { o.renewal.token = tokenAged(tokenLife / 2) }, true},
		"not before two fifths of it":      {func(o *observation) { o.renewal.token = tokenAged(tokenLife/5*2 - time.Minute) }, false},
		"at once where there is none":      {func(o *observation) { o.renewal.token, o.renewal.inUse = nil, false }, true},
		"at once where it has expired":     {func(o *observation) { o.renewal.token = tokenAged(tokenLife) }, true},
		"at once where it is of the future": {func(o *observation) {
			o.renewal.token = tokenAged(-time.Hour)
		}, true},
		"at once for another ServiceAccount": {func(o *observation) { o.renewal.token.account = "kube-system/other" }, true},
		"not at once where it was refused":   {func(o *observation) { o.renewal.refused, o.renewal.token = true, tokenAged(time.Minute) }, false},
		"some time after it was refused":     {func(o *observation) { o.renewal.refused, o.renewal.token = true, tokenAged(refusalLasts) }, true},
		"not while another try is under way": {func(o *observation) { o.renewal.token, o.renewal.running = nil, true }, false},
		"not before the pause after a failure": {func(o *observation) {
			o.renewal.token, o.renewal.retryAt = nil, now.Add(time.Second)
		}, false},
		"not before a new token is in use": {func(o *observation) { o.renewal.token, o.renewal.swap = nil, true }, false},
		"not while nobody answers":         {func(o *observation) { o.renewal.token, o.link = nil, nil }, false},
		"not of a cluster that is not the one on record": {func(o *observation) {
			o.renewal.token, o.link.Identity = nil, "green"
		}, false},
		"not before its identity is on record": {func(o *observation) { o.renewal.token, o.cluster.Status.ClusterID = nil, "" }, false},
		"not unasked":                          {func(o *observation) { o.renewal = renewal{} }, false},
		"not without a kubeconfig":             {func(o *observation) { o.renewal.token, o.credentials.problem, o.link = nil, &problem{}, nil }, false},
		"also while targets leave the cluster": {func(o *observation) {
			o.renewal.token = nil
			deleted(o)
			remaining(o, "cache")
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			o := renewedSettled()
			c.change(&o)
			if got := newPlan(o).renew; got != c.want {
				t.Errorf("a token is requested: %t", got)
			}
		})
	}
}

func TestTheNextTokenIsRequestedWhenItIsDueAndNotAllAtOnce(t *testing.T) {
	o := renewedSettled()
	due := o.renewal.token.renewAt("a")
	if again := reported(o).again; again <= 0 || now.Add(again).After(now.Add(tokenLife/2)) {
		t.Errorf("it is looked at again after %s", again)
	}
	different := 0
	for i := range 100 {
		at := o.renewal.token.renewAt(types.UID(fmt.Sprint("cluster", i)))
		if earliest, latest := o.renewal.token.mintedAt.Add(tokenLife/5*2), o.renewal.token.mintedAt.Add(tokenLife/2); at.Before(earliest) || at.After(latest) {
			t.Errorf("it is renewed at %s, not between %s and %s", at, earliest, latest)
		}
		if !at.Equal(due) {
			different++
		}
	}
	if different < 90 {
		t.Errorf("only %d of 100 clusters are renewed at another time", different)
	}
}

func TestTheTokenWinsUnlessItWasRefused(t *testing.T) {
	token, own := tokenAged(time.Hour).access.Fingerprint(), ownAccess.Fingerprint()
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	expired := ownAccess
	expired.Token = "e30." + base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"exp":%d}`, ago(time.Minute).Unix())) + ".e30"
	for name, c := range map[string]struct {
		token   *renewedToken
		own     kubeconfig.Access
		refused refusals
		linked  string
		want    bool
	}{
		"there is none":                            {nil, ownAccess, nil, own, false},
		"it is good":                               {tokenAged(time.Hour), ownAccess, nil, own, true},
		"it has expired":                           {tokenAged(tokenLife), ownAccess, nil, token, false},
		"it is of the future":                      {tokenAged(-time.Hour), ownAccess, nil, token, false},
		"it was refused":                           {tokenAged(time.Hour), ownAccess, refusals{token: now}, token, false},
		"it was refused long ago":                  {tokenAged(time.Hour), ownAccess, refusals{token: ago(time.Hour)}, own, false},
		"it was refused, and the others expired":   {tokenAged(time.Hour), expired, refusals{token: now}, token, true},
		"both were refused, the others just now":   {tokenAged(time.Hour), ownAccess, refusals{token: ago(time.Minute), own: now}, own, false},
		"both were refused, the others for a time": {tokenAged(time.Hour), ownAccess, refusals{token: ago(refusalLasts), own: now}, own, true},
		"both were refused, it just now":           {tokenAged(time.Hour), ownAccess, refusals{token: now, own: ago(time.Minute)}, token, true},
		"both were refused, it for a time":         {tokenAged(time.Hour), ownAccess, refusals{token: now, own: ago(refusalLasts)}, token, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := prefersToken(c.token, c.own, c.refused, c.linked, now); got != c.want {
				t.Errorf("the token is used: %t", got)
			}
		})
	}
}

// What the Secret holds may be anybody's.
func TestOnlyATokenIsTakenFromItsSecret(t *testing.T) {
	good := func() *corev1.Secret {
		return &corev1.Secret{Type: tenancyv1alpha1.SecretTypeRenewedToken, Data: tokenAged(time.Hour).data(ownAccess)}
	}
	read := readToken(good(), ownAccess)
	if read == nil || read.account != renewedBy.String() || !read.mintedAt.Equal(now.Add(-time.Hour)) || !read.expiresAt.Equal(now.Add(tokenLife-time.Hour)) || read.access.Token != "renewed" {
		t.Fatalf("got %+v", read)
	}
	for name, change := range map[string]func(*corev1.Secret){
		"another type":               func(s *corev1.Secret) { s.Type = corev1.SecretTypeOpaque },
		"of another kubeconfig":      func(s *corev1.Secret) { s.Data[keyKubeconfig] = []byte("other") },
		"without a token":            func(s *corev1.Secret) { delete(s.Data, keyToken) },
		"a token of two lines":       func(s *corev1.Secret) { s.Data[keyToken] = []byte("a\nHost: b") },
		"a token that is too long":   func(s *corev1.Secret) { s.Data[keyToken] = []byte(strings.Repeat("a", kubeconfig.MaxTokenBytes+1)) },
		"without a time":             func(s *corev1.Secret) { delete(s.Data, keyMintedAt) },
		"a time that nobody reads":   func(s *corev1.Secret) { s.Data[keyExpiresAt] = []byte("tomorrow") },
		"an end before its begin":    func(s *corev1.Secret) { s.Data[keyExpiresAt] = []byte("2020-01-01T00:00:00Z") },
		"nothing":                    func(s *corev1.Secret) { s.Data = nil },
		"a token that ended by then": func(s *corev1.Secret) { s.Data[keyToken] = jwt(now.Add(-2 * time.Hour)) },
	} {
		secret := good()
		change(secret)
		if got := readToken(secret, ownAccess); got != nil {
			t.Errorf("%s: got %+v", name, got)
		}
	}
	forged := good()
	forged.Data[keyExpiresAt] = []byte("2999-01-01T00:00:00Z")
	forged.Data["server"], forged.Data["value"] = []byte("https://green.example"), []byte("apiVersion: v1\nkind: Config")
	if got := readToken(forged, ownAccess); got == nil || got.expiresAt.After(got.mintedAt.Add(tokenLife)) || !got.access.LeadsWhere(ownAccess) {
		t.Errorf("got %+v", got)
	}
	forged.Data[keyToken] = jwt(now.Add(time.Hour))
	if got := readToken(forged, ownAccess); got == nil || !got.expiresAt.Equal(now.Add(time.Hour)) {
		t.Errorf("the token's own word does not count: %+v", got)
	}
}

func jwt(expires time.Time) []byte {
	return []byte("e30." + base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"exp":%d}`, expires.Unix())) + ".e30")
}

func TestReportOfARenewal(t *testing.T) {
	kinds := []string{tenancyv1alpha1.ConditionCredentialsRenewed, tenancyv1alpha1.ConditionCredentialsExpiring}
	failed := func(o *observation) {
		o.renewal.failure = &renewalFailure{tenancyv1alpha1.ReasonServiceAccountNotFound, "ServiceAccount kube-system/daytwo does not exist."}
	}
	for name, c := range map[string]struct {
		change func(*observation)
		want   string
		says   string
	}{
		"in use": {func(*observation) {}, "CredentialsRenewed=True/Renewed", "kube-system/daytwo is in use, and is renewed about 2026-11-2"},
		"first one awaited": {func(o *observation) {
			o.renewal.token, o.renewal.inUse, o.credentials.access = nil, false, ownAccess
		}, "CredentialsRenewed=Unknown/Pending", "as soon as the cluster is connected"},
		"failed, and another is in use": {failed, "CredentialsRenewed=False/ServiceAccountNotFound CredentialsExpiring=True/ExpiresSoon",
			"does not exist. The token at hand is used until it expires at 2026-11-28T02:00:00Z. It is tried again"},
		"failed, and the kubeconfig is in use": {func(o *observation) {
			failed(o)
			o.renewal.token, o.renewal.inUse, o.credentials.access = nil, false, ownAccess
		}, "CredentialsRenewed=False/ServiceAccountNotFound", "does not exist. The credentials in Secret access are used. It is tried again"},
		"refused": {func(o *observation) {
			o.renewal.refused, o.renewal.inUse, o.credentials.access = true, false, ownAccess
		}, "CredentialsRenewed=False/TokenRefused", "see whether the ServiceAccount is there"},
		"unasked": {func(o *observation) { o.renewal, o.credentials.access = renewal{}, ownAccess }, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			o := renewedSettled()
			c.change(&o)
			got := reported(o)
			if text := conditionTexts(got.status, kinds...); text != c.want {
				t.Errorf("got %s, want %s", text, c.want)
			}
			if w := newWriter(&got.status, 1, now); c.want != "" && !strings.Contains(w.Get(kinds[0]).Message, c.says) {
				t.Errorf("it says %q, not %q", w.Get(kinds[0]).Message, c.says)
			}
			told := slices.ContainsFunc(got.events, func(one eventRecord) bool { return one.action == "Renew" })
			if wanted := c.want != "" && !strings.Contains(c.want, "Pending"); told != wanted {
				t.Errorf("an Event tells of it: %t", told)
			}
			o.cluster.Status = got.status
			if again := reported(o); again.changed {
				t.Errorf("it is written again: %+v", again.status.Conditions)
			}
		})
	}
}

// What failed stands while it is tried again, also by a manager that has just started.
func TestAFailureStandsUntilTheNextTryHasEnded(t *testing.T) {
	o := renewedSettled()
	o.renewal.token, o.renewal.inUse, o.credentials.access = nil, false, ownAccess
	o.renewal.failure = &renewalFailure{tenancyv1alpha1.ReasonTokenLacksRights, "It lacks rights."}
	o.cluster.Status = reported(o).status
	o.renewal.failure, o.renewal.running = nil, true
	if got := reported(o); got.changed {
		t.Errorf("got %+v", got.status.Conditions)
	}
	o.link = &fleet.State{Phase: fleet.Connecting}
	if got := conditionTexts(reported(o).status, tenancyv1alpha1.ConditionCredentialsRenewed); got != "CredentialsRenewed=False/TokenLacksRights" {
		t.Errorf("after a start it says %s", got)
	}
}
