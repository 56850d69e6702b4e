package backupenrollment

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/backuptest"
)

func TestTemporaryCredentialsAreRenewedAtHalfTheirLife(t *testing.T) {
	role := &backupv1alpha1.AssumeRole{RoleARN: "arn:aws:iam::123456789012:role/backups"}
	purpose := purposeOf(*role, "daytwo/acme/nightly/1")
	minted := func(ago, life time.Duration, change map[string]string) *metav1.PartialObjectMetadata {
		secret := &metav1.PartialObjectMetadata{}
		secret.Annotations = map[string]string{
			annotationMintedAt: backuptest.Noon.Add(-ago).Format(time.RFC3339), annotationExpiresAt: backuptest.Noon.Add(life - ago).Format(time.RFC3339), annotationMintedFor: purpose,
		}
		for key, value := range change {
			secret.Annotations[key] = value
		}
		return secret
	}
	for name, row := range map[string]struct {
		secret *metav1.PartialObjectMetadata
		due    bool
		wakes  time.Duration
	}{
		"there are none":              {nil, true, 0},
		"a person gave them":          {&metav1.PartialObjectMetadata{}, true, 0},
		"they are new":                {minted(0, 12*time.Hour, nil), false, 6 * time.Hour},
		"half their life is over":     {minted(6*time.Hour, 12*time.Hour, nil), true, 0},
		"they are good no more":       {minted(13*time.Hour, 12*time.Hour, nil), true, 0},
		"STS gave them a shorter one": {minted(10*time.Minute, time.Hour, nil), false, 20 * time.Minute},
		"they are for another role":   {minted(0, 12*time.Hour, map[string]string{annotationMintedFor: "other"}), true, 0},
		"somebody changed a time":     {minted(0, 12*time.Hour, map[string]string{annotationExpiresAt: "never"}), true, 0},
		"somebody turned the times":   {minted(0, -time.Hour, nil), true, 0},
	} {
		m := planMinting(minting{role: role, purpose: purpose}, row.secret, backuptest.Noon)
		if m.due != row.due || row.wakes > 0 && !m.wakeAt.Equal(backuptest.Noon.Add(row.wakes)) || row.wakes == 0 && !m.wakeAt.IsZero() {
			t.Errorf("%s: %+v", name, m)
		}
	}
	if purposeOf(*role, "daytwo/acme/nightly/2") == purpose {
		t.Error("credentials for one prefix are taken for those of another")
	}
}

func TestCredentialsThatCannotBeRenewedAreTold(t *testing.T) {
	role := &backupv1alpha1.AssumeRole{}
	for name, row := range map[string]struct {
		m      minting
		status metav1.ConditionStatus
		says   string
	}{
		"none yet":                {minting{role: role}, metav1.ConditionUnknown, "waits for the first"},
		"good":                    {minting{role: role, expiresAt: backuptest.Noon.Add(time.Hour)}, metav1.ConditionTrue, "2026-"},
		"not renewed, and good":   {minting{role: role, expiresAt: backuptest.Noon.Add(time.Hour), problem: "no answer"}, metav1.ConditionFalse, "those at hand are good until"},
		"not renewed, and over":   {minting{role: role, expiresAt: backuptest.Noon.Add(-time.Hour), problem: "no answer"}, metav1.ConditionFalse, "there are no credentials that are good: no answer"},
		"none, and no way to any": {minting{role: role, problem: "no answer"}, metav1.ConditionFalse, "no credentials that are good: no answer"},
	} {
		f := row.m.finding(backuptest.Noon)
		if row.says == "2026-" {
			row.says = backuptest.Noon.Add(time.Hour).Format(time.RFC3339)
		}
		if f.status != row.status || !strings.Contains(f.message, row.says) {
			t.Errorf("%s: %+v", name, f)
		}
	}
	if f := (minting{}).finding(backuptest.Noon); f.kind != "" {
		t.Errorf("where a person gives them: %+v", f)
	}
}
