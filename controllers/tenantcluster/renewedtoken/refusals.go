package renewedtoken

import (
	"maps"
	"time"
)

// maxRefusals bounds the credentials of a cluster of which a refusal is remembered: a token, the kubeconfig's, and those before.
const maxRefusals = 8

// Refusals are when the cluster refused which credentials, by their fingerprints.
type Refusals map[string]time.Time

// Answer is what a cluster makes of credentials. Neither is so while no answer has come.
type Answer struct{ Refused, Accepted bool }

// After returns the refusals as they are after an answer to credentials, if there are any. What is accepted is refused no longer.
func (r Refusals) After(credentials string, answer Answer, now time.Time) Refusals {
	after := maps.Clone(r)
	if after == nil {
		after = Refusals{}
	}
	if answer.Refused && credentials != "" {
		after[credentials] = now
	}
	if answer.Accepted {
		delete(after, credentials)
	}
	for fingerprint, at := range after {
		if len(after) > maxRefusals && at.Before(now) {
			delete(after, fingerprint)
		}
	}
	return after
}
