package backupenrollment

import (
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/backuptest"
	"github.com/daytwo-dev/daytwo/controllers/internal/backupstore"
)

func TestWhenStorageIsProbed(t *testing.T) {
	check := func(result backupv1alpha1.StorageResult, failures int32) *backupv1alpha1.StorageCheck {
		return &backupv1alpha1.StorageCheck{CheckedAt: metav1.NewTime(backuptest.Noon), CredentialsVersion: "1", Result: result, Failures: failures}
	}
	for name, row := range map[string]struct {
		check       *backupv1alpha1.StorageCheck
		credentials string
		want        time.Time
	}{
		"it never was":               {nil, "1", time.Time{}},
		"the credentials are new":    {check(backupv1alpha1.StorageWritable, 0), "2", time.Time{}},
		"it was fine":                {check(backupv1alpha1.StorageWritable, 0), "1", backuptest.Noon.Add(24 * time.Hour)},
		"it refused":                 {check(backupv1alpha1.StorageRefuses, 1), "1", backuptest.Noon.Add(time.Minute)},
		"it refused again":           {check(backupv1alpha1.StorageRefuses, 3), "1", backuptest.Noon.Add(4 * time.Minute)},
		"it did not answer for long": {check(backupv1alpha1.StorageNotReached, 7), "1", backuptest.Noon.Add(time.Hour)},
		"nobody knows how often":     {check(backupv1alpha1.StorageNotReached, 1<<30), "1", backuptest.Noon.Add(time.Hour)},
		"somebody changed the count": {check(backupv1alpha1.StorageRefuses, -3), "1", backuptest.Noon.Add(time.Minute)},
	} {
		if got := probedAt(row.check, row.credentials); !got.Equal(row.want) {
			t.Errorf("%s: %s, want %s", name, got, row.want)
		}
	}
}

func TestWhatAProbeShows(t *testing.T) {
	listed := finding{kind: backupv1alpha1.ConditionStorageAvailable, status: metav1.ConditionTrue, message: "Velero can list the bucket"}
	var before *backupv1alpha1.StorageCheck
	for _, row := range []struct {
		name       string
		found      backupstore.Probe
		err        error
		available  metav1.ConditionStatus
		says       string
		protected  metav1.ConditionStatus
		protection string
		failures   int32
	}{
		{"no answer", backupstore.Probe{}, errors.New("no route"), metav1.ConditionTrue, "no route", metav1.ConditionUnknown, "no route", 1},
		{"a refusal", backupstore.Probe{Refused: "they need s3:PutObject"}, nil, metav1.ConditionFalse, "s3:PutObject", metav1.ConditionUnknown, "s3:PutObject", 2},
		{"no versions", backupstore.Probe{History: backupstore.HistoryNotKept}, nil, metav1.ConditionTrue, "can be written", metav1.ConditionFalse, "turn the versions", 0},
		{"versions", backupstore.Probe{History: backupstore.HistoryErasable}, nil, metav1.ConditionTrue, "can be written", metav1.ConditionFalse, "s3:DeleteObjectVersion", 0},
		{"versions that stay", backupstore.Probe{History: backupstore.HistoryKept}, nil, metav1.ConditionTrue, "can be written", metav1.ConditionTrue, "cannot delete them", 0},
		{"no answer after that", backupstore.Probe{}, errors.New("no route"), metav1.ConditionTrue, "no route", metav1.ConditionTrue, "cannot delete them", 1},
	} {
		check := checkOf(before, "1", row.found, row.err, backuptest.Noon)
		available, protection := listed.withProbe(check), historyFinding(check)
		if available.status != row.available || !strings.Contains(available.message, row.says) {
			t.Errorf("%s: StorageAvailable is %+v", row.name, available)
		}
		if protection.status != row.protected || !strings.Contains(protection.message, row.protection) {
			t.Errorf("%s: StorageProtected is %+v", row.name, protection)
		}
		if check.Failures != row.failures {
			t.Errorf("%s: %d in a row", row.name, check.Failures)
		}
		before = check
	}
	if renewed := checkOf(before, "2", backupstore.Probe{Refused: "no"}, nil, backuptest.Noon); renewed.Failures != 1 {
		t.Errorf("failures with other credentials count: %+v", renewed)
	}
	down := finding{kind: backupv1alpha1.ConditionStorageAvailable, status: metav1.ConditionFalse, message: "Velero cannot use the storage"}
	if got := down.withProbe(before); got.message != down.message {
		t.Errorf("Velero's word is overruled: %+v", got)
	}
}
