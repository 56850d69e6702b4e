package tenantcluster

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/kubeconfig"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/renewedtoken"
)

var (
	ownAccess = kubeconfig.Access{Server: "https://blue.example", Token: "own"}
	renewedBy = tenancyv1alpha1.ServiceAccountReference{Namespace: "kube-system", Name: "daytwo"}
)

// tokenAged is a token of seven days that was minted some time ago.
func tokenAged(age time.Duration) *renewedtoken.Token {
	access, err := ownAccess.WithToken("renewed")
	if err != nil {
		panic(err)
	}
	return &renewedtoken.Token{Access: access, Account: renewedBy.String(), MintedAt: now.Add(-age), ExpiresAt: now.Add(renewedtoken.Life - age)}
}

// renewedSettled is a TenantCluster that is connected with a token.
func renewedSettled() observation {
	o := settled()
	o.cluster.Spec.KubeconfigRef.Renew = &tenancyv1alpha1.CredentialsRenewal{ServiceAccount: renewedBy}
	o.renewal = renewal{account: &renewedBy, secret: heldMetadata("prod-renewed-token"), token: tokenAged(time.Hour), inUse: true}
	o.credentials.own, o.credentials.access = ownAccess, o.renewal.token.Access
	return o
}

func TestWhenATokenIsRequested(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*observation)
		want   bool
	}{
		"not while the one at hand is new": {func(*observation) {}, false},
		"at half of its life":              {func(o *observation) { o.renewal.token = tokenAged(renewedtoken.Life / 2) }, true},
		"not before two fifths of it":      {func(o *observation) { o.renewal.token = tokenAged(renewedtoken.Life/5*2 - time.Minute) }, false},
		"at once where there is none":      {func(o *observation) { o.renewal.token, o.renewal.inUse = nil, false }, true},
		"at once where it has expired":     {func(o *observation) { o.renewal.token = tokenAged(renewedtoken.Life) }, true},
		"at once where it is of the future": {func(o *observation) {
			o.renewal.token = tokenAged(-time.Hour)
		}, true},
		"at once for another ServiceAccount": {func(o *observation) { o.renewal.token.Account = "kube-system/other" }, true},
		"not at once where it was refused":   {func(o *observation) { o.renewal.refused, o.renewal.token = true, tokenAged(time.Minute) }, false},
		"some time after it was refused":     {func(o *observation) { o.renewal.refused, o.renewal.token = true, tokenAged(renewedtoken.RefusalLasts) }, true},
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
			stillThere(o, "cache")
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
	due := o.renewal.token.RenewAt("a")
	if again := reported(o).again; again <= 0 || now.Add(again).After(now.Add(renewedtoken.Life/2)) {
		t.Errorf("it is looked at again after %s", again)
	}
	different := 0
	for i := range 100 {
		at := o.renewal.token.RenewAt(types.UID(fmt.Sprint("cluster", i)))
		if earliest, latest := o.renewal.token.MintedAt.Add(renewedtoken.Life/5*2), o.renewal.token.MintedAt.Add(renewedtoken.Life/2); at.Before(earliest) || at.After(latest) {
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

func TestReportOfARenewal(t *testing.T) {
	kinds := []string{tenancyv1alpha1.ConditionCredentialsRenewed, tenancyv1alpha1.ConditionCredentialsExpiring}
	failed := func(o *observation) {
		o.renewal.failure = &renewedtoken.Failure{Reason: tenancyv1alpha1.ReasonServiceAccountNotFound, Message: "ServiceAccount kube-system/daytwo does not exist."}
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
	o.renewal.failure = &renewedtoken.Failure{Reason: tenancyv1alpha1.ReasonTokenLacksRights, Message: "It lacks rights."}
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
