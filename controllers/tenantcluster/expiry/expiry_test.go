package expiry

import (
	"strings"
	"testing"
	"time"

	"github.com/daytwo-dev/daytwo/controllers/internal/kubeconfig"
)

func TestTheExpiredCredentialIsNamed(t *testing.T) {
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	certificate := Credentials{Secret: "access", Sort: kubeconfig.ClientCertificate, ExpiresAt: now, Warning: time.Hour}
	renewed := Credentials{Secret: "access", Sort: kubeconfig.Token, ExpiresAt: now, Warning: time.Hour, Renewed: true}
	for name, c := range map[string]struct {
		credentials Credentials
		before      time.Duration
		failing     bool
		reason      string
		says        string
		refusal     string
	}{
		"long before": {certificate, 2 * time.Hour, false, "", "", "The credentials are refused: 401"},
		"soon": {certificate, time.Hour, false, "ExpiresSoon",
			"The client certificate in Secret access expires at 2030-01-02T03:04:05Z: put a kubeconfig with a new one there before.", "The credentials are refused: 401"},
		"at the time": {certificate, 0, false, "Expired",
			"The client certificate in Secret access expired at 2030-01-02T03:04:05Z: put a kubeconfig with a new one there.",
			"The client certificate in Secret access expired at 2030-01-02T03:04:05Z: put a kubeconfig with a new one there. (401)"},
		"never":         {Credentials{Secret: "access", Warning: time.Hour}, 0, false, "", "", "The credentials are refused: 401"},
		"it is renewed": {renewed, time.Minute, false, "", "", "The credentials are refused: 401"},
		"it is not": {renewed, 0, true, "ExpiresSoon", "The token in use expires at 2030-01-02T03:04:05Z, and is not renewed: see the condition CredentialsRenewed.",
			"The token in use expired at 2030-01-02T03:04:05Z, and was not renewed: see the condition CredentialsRenewed. (401)"},
	} {
		t.Run(name, func(t *testing.T) {
			at := now.Add(-c.before)
			if reason, message := c.credentials.Condition(at, c.failing); reason != c.reason || message != c.says {
				t.Errorf("got %q: %q", reason, message)
			}
			if got := c.credentials.Refusal(at, "401"); got != c.refusal {
				t.Errorf("refusal: %q", got)
			}
		})
	}
}

func TestARefusalSaysWhatTheClusterAnswered(t *testing.T) {
	if got := (Credentials{}).Refusal(time.Now(), "403: the credentials lack the right to get namespaces"); !strings.Contains(got, "lack the right to get namespaces") {
		t.Error(got)
	}
}
