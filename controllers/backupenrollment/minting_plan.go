package backupenrollment

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

// Annotations of a Secret with temporary credentials.
const (
	// annotationExpiresAt is until when they are good.
	annotationExpiresAt = "daytwo.dev/expires-at"
	// annotationMintedAt is since when, and annotationMintedFor for what they were asked for.
	annotationMintedAt  = "daytwo.dev/minted-at"
	annotationMintedFor = "daytwo.dev/minted-for"
)

// minting is how temporary credentials stand.
type minting struct {
	// role is nil where a person gives the credentials.
	role *backupv1alpha1.AssumeRole
	// purpose is what they have to be asked for; empty while that is not known.
	purpose string
	// due: they are to be minted now. wakeAt is when to look again; zero for never.
	due    bool
	wakeAt time.Time
	// expiresAt is until when those at hand are good; zero if there are none.
	expiresAt time.Time
	// problem is why the last try failed; empty if it did not.
	problem string
}

// purposeOf temporary credentials: who asks for anything else needs others.
func purposeOf(role backupv1alpha1.AssumeRole, prefix string) string {
	text, err := json.Marshal([]any{role, prefix})
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// planMinting decides by what the Secret with the credentials says of itself; nil if there is none. They are renewed at half
// their life.
func planMinting(m minting, secret *metav1.PartialObjectMetadata, now time.Time) minting {
	if secret == nil || !isMinted(secret) {
		m.due = true
		return m
	}
	told := secret.GetAnnotations()
	minted, wrong := time.Parse(time.RFC3339, told[annotationMintedAt])
	expires, alsoWrong := time.Parse(time.RFC3339, told[annotationExpiresAt])
	if wrong != nil || alsoWrong != nil || !expires.After(minted) || told[annotationMintedFor] != m.purpose {
		m.due = true
		return m
	}
	m.expiresAt = expires
	renewAt := minted.Add(expires.Sub(minted) / 2)
	if m.due = !now.Before(renewAt); !m.due {
		m.wakeAt = renewAt
	}
	return m
}

// isMinted is whether a Secret is one that Daytwo writes.
func isMinted(secret *metav1.PartialObjectMetadata) bool {
	return secret.GetAnnotations()[annotationMintedFor] != ""
}

// finding is whether the credentials of the cluster are renewed in time.
func (m minting) finding(now time.Time) finding {
	f := finding{kind: backupv1alpha1.ConditionCredentialsRenewed}
	switch {
	case m.role == nil:
		return finding{}
	case m.problem == "" && m.expiresAt.IsZero():
		f.status, f.reason, f.message = metav1.ConditionUnknown, metav1alpha1.ReasonProgressing, "waits for the first credentials"
	case m.problem == "":
		f.status, f.reason, f.message = metav1.ConditionTrue, metav1alpha1.ReasonSucceeded, "good until "+m.expiresAt.UTC().Format(time.RFC3339)
	case now.Before(m.expiresAt):
		f.status, f.reason, f.stalled = metav1.ConditionFalse, backupv1alpha1.ReasonCredentialsNotRenewed, true
		f.message = fmt.Sprintf("those at hand are good until %s: %s", m.expiresAt.UTC().Format(time.RFC3339), m.problem)
	default:
		f.status, f.reason, f.stalled = metav1.ConditionFalse, backupv1alpha1.ReasonCredentialsNotRenewed, true
		f.message = "there are no credentials that are good: " + m.problem
	}
	return f
}
