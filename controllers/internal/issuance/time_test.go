package issuance_test

import (
	"crypto/x509"
	"testing"
	"time"

	"github.com/daytwo-dev/daytwo/controllers/internal/issuance"
	"github.com/daytwo-dev/daytwo/controllers/internal/issuance/issuancetest"
)

// never is a Problem.Until that no time mends.
var never time.Time

func TestCheckWantsTheWholeChainToBeValidNow(t *testing.T) {
	past, soon, later := issuancetest.Valid(-2*time.Hour, -time.Second), issuancetest.Valid(5*time.Minute, time.Hour), issuancetest.Valid(90*time.Minute, 2*time.Hour)
	good := func(*x509.Certificate) {}
	for name, row := range map[string]struct {
		leaf, lower, root issuancetest.Change
		reason            string
		until             time.Time
	}{
		"all valid":                          {good, good, good, "", never},
		"valid at the first second":          {issuancetest.Valid(0, time.Hour), good, good, "", never},
		"valid at the last second":           {issuancetest.Valid(-time.Hour, 0), good, good, "", never},
		"an expired certificate":             {past, good, good, issuance.ReasonExpired, never},
		"an expired intermediate":            {good, past, good, issuance.ReasonChainExpired, never},
		"an expired CA":                      {good, good, past, issuance.ReasonChainExpired, never},
		"a certificate of a fast clock":      {soon, good, good, issuance.ReasonNotYetValid, now.Add(5 * time.Minute)},
		"an intermediate of a fast clock":    {good, soon, good, issuance.ReasonChainNotYetValid, now.Add(5 * time.Minute)},
		"a CA of a fast clock":               {good, good, soon, issuance.ReasonChainNotYetValid, now.Add(5 * time.Minute)},
		"all of a fast clock":                {soon, soon, soon, issuance.ReasonNotYetValid, now.Add(5 * time.Minute)},
		"a certificate that is never valid":  {soon, issuancetest.Valid(-time.Hour, time.Minute), good, issuance.ReasonChainExpired, never},
		"an intermediate that is valid last": {soon, later, good, issuance.ReasonChainExpired, never},
		"expired, and an early intermediate": {past, soon, good, issuance.ReasonExpired, never},
	} {
		t.Run(name, func(t *testing.T) {
			root := issuancetest.Root(t, "root", row.root)
			lower := root.Intermediate(t, "lower", row.lower)
			leaf := lower.Leaf(t, host, row.leaf)
			_, err := issuance.Check(issuance.Material{Certificate: leaf.PEM(lower), PrivateKey: leaf.KeyPEM(t), CA: root.PEM()}, request(), now)
			if row.reason != "" {
				expectProblem(t, err, row.reason, row.until)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}

func TestWhatIsNotYetValidPassesWhenItIs(t *testing.T) {
	leaf := issuancetest.SelfSigned(t, host, issuancetest.Valid(5*time.Minute, time.Hour))
	material := issuance.Material{Certificate: leaf.PEM(), PrivateKey: leaf.KeyPEM(t)}
	_, err := issuance.Check(material, request(), now)
	expectProblem(t, err, issuance.ReasonNotYetValid, leaf.NotBefore)
	if _, err := issuance.Check(material, request(), leaf.NotBefore); err != nil {
		t.Error(err)
	}
}

func TestNobodyWaitsForACertificateThatNeverPasses(t *testing.T) {
	early := issuancetest.Valid(5*time.Minute, time.Hour)
	c := newChain(t, early)
	material := c.material(t)
	material.CA = issuancetest.Root(t, "root").PEM()
	_, err := issuance.Check(material, request(), now)
	expectProblem(t, err, issuance.ReasonChainUntrusted, never)
	asked := request()
	asked.Usages = []string{"client auth"}
	_, err = issuance.Check(c.material(t), asked, now)
	expectProblem(t, err, issuance.ReasonUsageMissing, never)
}

func TestAnExpiredCABesideItsSuccessorIsNoProblem(t *testing.T) {
	old := issuancetest.Root(t, "root", issuancetest.Valid(-2*time.Hour, -time.Hour))
	renewed := issuancetest.Certificate{Key: old.Key}.SelfSign(t, "root")
	leaf := renewed.Leaf(t, host)
	if _, err := issuance.Check(issuance.Material{Certificate: leaf.PEM(), PrivateKey: leaf.KeyPEM(t), CA: old.PEM(renewed)}, request(), now); err != nil {
		t.Error(err)
	}
}
