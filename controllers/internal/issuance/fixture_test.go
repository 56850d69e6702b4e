package issuance_test

import (
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/daytwo-dev/daytwo/controllers/internal/issuance"
	"github.com/daytwo-dev/daytwo/controllers/internal/issuance/issuancetest"
)

const host = "shop.example.com"

var now = issuancetest.Now

// chain is what a good issuer has: a root, two CAs below it, and a certificate.
type chain struct{ root, upper, lower, leaf issuancetest.Certificate }

func newChain(t testing.TB, changes ...issuancetest.Change) chain {
	t.Helper()
	root := issuancetest.Root(t, "root")
	upper := root.Intermediate(t, "upper")
	lower := upper.Intermediate(t, "lower")
	return chain{root, upper, lower, lower.Leaf(t, host, changes...)}
}

// material is what a good issuer issues.
func (c chain) material(t testing.TB) issuance.Material {
	t.Helper()
	return issuance.Material{Certificate: c.leaf.PEM(c.lower, c.upper), PrivateKey: c.leaf.KeyPEM(t), CA: c.root.PEM()}
}

// request is what was asked of it.
func request() issuance.Request {
	return issuance.Request{CommonName: host, DNSNames: []string{host}, Usages: []string{"digital signature", "server auth"}}
}

// expectProblem wants an error to be a Problem that a status can tell.
func expectProblem(t testing.TB, err error, reason string, until time.Time) {
	t.Helper()
	var problem *issuance.Problem
	if !errors.As(err, &problem) {
		t.Fatalf("expected a problem with the reason %s, got %v", reason, err)
	}
	if problem.Reason != reason || !problem.Until.Equal(until) {
		t.Errorf("expected %s until %v, got %s until %v: %s", reason, until, problem.Reason, problem.Until, problem.Message)
	}
	expectTellable(t, problem)
}

// expectTellable wants a message that is short, readable, and names a way out.
func expectTellable(t testing.TB, problem *issuance.Problem) {
	t.Helper()
	if len(problem.Message) > 1024 || !utf8.ValidString(problem.Message) || strings.ContainsAny(problem.Message, "\n\x00") {
		t.Errorf("the message does not fit into a status: %q", problem.Message)
	}
	if !strings.Contains(problem.Message, ": ") || problem.Reason == "" {
		t.Errorf("the problem names no way out: %q", problem.Message)
	}
}
