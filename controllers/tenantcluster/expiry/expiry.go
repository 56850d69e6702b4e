// Package expiry says what the end of a cluster's credentials means: when to warn of it, and that a cluster refuses them for
// it. It is pure.
package expiry

import (
	"fmt"
	"time"

	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
)

// Credentials are those that a cluster is reached with.
type Credentials struct {
	// Secret that the kubeconfig is in.
	Secret string
	// Sort of the credential that ends first, as in "client certificate".
	Sort string
	// ExpiresAt is when it ends; zero if it does not say.
	ExpiresAt time.Time
	// Renewed: it is a token that Daytwo renews.
	Renewed bool
	// Warning is how long before the end people are warned.
	Warning time.Duration
}

// HasExpired is whether the credentials have ended.
func (c Credentials) HasExpired(now time.Time) bool {
	return !c.ExpiresAt.IsZero() && !now.Before(c.ExpiresAt)
}

// Condition returns the reason and the message of CredentialsExpiring; an empty reason where there is nothing to warn of.
// A token is not warned of while it is renewed; isRenewalFailing says that it is not.
func (c Credentials) Condition(now time.Time, isRenewalFailing bool) (reason, message string) {
	at := c.ExpiresAt.UTC().Format(time.RFC3339)
	switch {
	case c.ExpiresAt.IsZero() || c.Renewed && !isRenewalFailing:
		return "", ""
	case c.Renewed:
		return tenancyv1alpha1.ReasonExpiresSoon, fmt.Sprintf(
			"The token in use expires at %s, and is not renewed: see the condition %s.", at, tenancyv1alpha1.ConditionCredentialsRenewed)
	case c.HasExpired(now):
		return tenancyv1alpha1.ReasonExpired, c.expired()
	case !now.Before(c.ExpiresAt.Add(-c.Warning)):
		return tenancyv1alpha1.ReasonExpiresSoon, fmt.Sprintf(
			"The %s in Secret %s expires at %s: put a kubeconfig with a new one there before.", c.Sort, c.Secret, at)
	}
	return "", ""
}

func (c Credentials) expired() string {
	return fmt.Sprintf("The %s in Secret %s expired at %s: put a kubeconfig with a new one there.", c.Sort, c.Secret, c.ExpiresAt.UTC().Format(time.RFC3339))
}

// Refusal is why a cluster refuses the credentials: that they have ended, or else what it answered.
func (c Credentials) Refusal(now time.Time, answer string) string {
	switch {
	case !c.HasExpired(now):
		return "The credentials are refused: " + answer
	case c.Renewed:
		return fmt.Sprintf("The token in use expired at %s, and was not renewed: see the condition %s. (%s)",
			c.ExpiresAt.UTC().Format(time.RFC3339), tenancyv1alpha1.ConditionCredentialsRenewed, answer)
	}
	return c.expired() + " (" + answer + ")"
}
