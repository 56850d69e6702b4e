package renewedtoken

import (
	"time"

	"github.com/daytwo-dev/daytwo/controllers/internal/kubeconfig"
)

// RefusalLasts is how long credentials that the cluster refused are not tried again while there are others, and how long
// no other token takes the place of one that was refused: a cluster that takes a token in a trial and refuses it
// afterwards must not have tokens minted without end.
const RefusalLasts = 5 * time.Minute

// Preferred chooses between the token and the kubeconfig's own credentials. The token wins; one that was refused gives way to
// the others, unless those expired or were refused too. Then they take turns.
func Preferred(token *Token, own kubeconfig.Access, refused Refusals, linked string, now time.Time) bool {
	if !token.IsGood(now) {
		return false
	}
	tokenRefused, isRefused := refused[token.Access.Fingerprint()]
	if expires, known := own.ExpiresAt(); !isRefused || known && !now.Before(expires) {
		return true
	}
	ownRefused, alsoRefused := refused[own.Fingerprint()]
	switch {
	case !alsoRefused:
		return false
	case linked == own.Fingerprint():
		return !now.Before(tokenRefused.Add(RefusalLasts))
	}
	return now.Before(ownRefused.Add(RefusalLasts))
}
