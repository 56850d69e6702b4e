package backupenrollment

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/history"
	"github.com/daytwo-dev/daytwo/controllers/internal/backupstore"
	"github.com/daytwo-dev/daytwo/controllers/internal/truncate"
)

const (
	// probeEvery is how often storage that can be written is probed again.
	probeEvery = 24 * time.Hour
	// reprobe is how long after a probe that found something wrong the next one is made. It doubles with each.
	reprobe    = time.Minute
	maxReprobe = time.Hour
	// maxProbeFailures is up to where they are counted.
	maxProbeFailures = 7
)

// probedAt is when storage is to be probed next; zero for at once.
func probedAt(check *backupv1alpha1.StorageCheck, credentials string) time.Time {
	switch {
	case check == nil || check.CredentialsVersion != credentials:
		return time.Time{}
	case check.Result == backupv1alpha1.StorageWritable:
		return check.CheckedAt.Add(probeEvery)
	}
	return check.CheckedAt.Add(min(reprobe<<max(0, min(check.Failures, maxProbeFailures)-1), maxReprobe))
}

// checkOf is what a probe showed. The one before says how often storage was found wanting in a row.
func checkOf(before *backupv1alpha1.StorageCheck, credentials string, found backupstore.Probe, err error, now time.Time) *backupv1alpha1.StorageCheck {
	check := &backupv1alpha1.StorageCheck{
		CheckedAt: metav1.NewTime(now).Rfc3339Copy(), CredentialsVersion: credentials, Result: backupv1alpha1.StorageWritable,
		History: backupv1alpha1.StorageHistory(found.History),
	}
	switch {
	case err != nil:
		check.Result, check.Message, check.History = backupv1alpha1.StorageNotReached, truncate.Message(err.Error(), history.MaxProblem), ""
		if before != nil && before.CredentialsVersion == credentials {
			check.History = before.History
		}
	case found.Refused != "":
		check.Result, check.Message = backupv1alpha1.StorageRefuses, truncate.Message(found.Refused, history.MaxProblem)
	default:
		return check
	}
	check.Failures = 1
	if before != nil && before.CredentialsVersion == credentials {
		check.Failures = min(before.Failures+1, maxProbeFailures)
	}
	return check
}

// withProbe adds what the probe showed to what Velero tells of the storage, which is that it can list the bucket.
func (f finding) withProbe(check *backupv1alpha1.StorageCheck) finding {
	if check == nil || f.status != metav1.ConditionTrue {
		return f
	}
	switch check.Result {
	case backupv1alpha1.StorageRefuses:
		f.status, f.reason, f.stalled = metav1.ConditionFalse, backupv1alpha1.ReasonStorageNotWritable, true
		f.message = "Velero can list the bucket, and not work with it: " + check.Message
	case backupv1alpha1.StorageNotReached:
		f.message = "Velero can list the bucket; whether it can be written, Daytwo could not find out: " + check.Message
	case backupv1alpha1.StorageWritable:
		f.message = "Velero can list the bucket, and objects in it can be written, read and deleted"
	}
	return f
}
