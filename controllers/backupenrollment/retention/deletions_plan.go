package retention

import (
	"fmt"
	"strconv"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/history"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/veleroobjects"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/times"
	"github.com/daytwo-dev/daytwo/controllers/internal/truncate"
)

const (
	// maxRequested is how many backups of an enrollment Velero is asked to delete at a time. It deletes one after another.
	maxRequested = 5
	// retryDeletion is how long after a request that failed the first other one is made. It is short, since Velero may not
	// have seen yet a backup that it brought into the cluster itself, and then finds none. It doubles with each, and ends below
	// the day after which Velero removes requests, and with them the count.
	retryDeletion = 30 * time.Second
	// MaxRetryDeletion is how long after a request that failed another one is made at most.
	MaxRetryDeletion = 8 * time.Hour
	// stuckDeletion is how long Velero may work on a request. One that it worked on when it was killed stays as it is.
	stuckDeletion = 2 * time.Hour
	// maxAttempts is up to where they are counted.
	maxAttempts = 12
	// maxRequestName is how long the name of a request may be.
	maxRequestName = 63
)

// Deletion is a backup that Velero is asked to delete.
type Deletion struct {
	// Backup is the name of the backup, and UID its UID.
	Backup string
	UID    types.UID
	// Attempt counts from 1.
	Attempt int
	// Failed is the request before, which gives way to this one; empty for none.
	Failed types.UID
}

// requestName follows from the backup, so that a request that is there already is not made again.
func (d Deletion) requestName() string {
	return objects.ShortName(maxRequestName, d.Backup, d.Backup+"/"+string(d.UID))
}

// Request is what Velero deletes a backup by. Its labels are those that Velero's own requests have: one that is under way
// keeps Velero from making another.
func (d Deletion) Request(own *backupv1alpha1.VeleroObjects) *unstructured.Unstructured {
	labels := map[string]string{metav1alpha1.LabelBackup: own.Name, velerov1.BackupUIDLabel: string(d.UID)}
	if len(d.Backup) <= maxRequestName { // Velero sets a longer one itself.
		labels[velerov1.BackupNameLabel] = d.Backup
	}
	request := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"backupName": d.Backup}}}
	request.SetGroupVersionKind(veleroobjects.DeletionKind)
	request.SetNamespace(own.Namespace)
	request.SetName(d.requestName())
	request.SetLabels(labels)
	request.SetAnnotations(map[string]string{metav1alpha1.AnnotationAttempt: strconv.Itoa(d.Attempt)})
	return request
}

// Deletions are how far the deletion of backups has come.
type Deletions struct {
	// Remaining are the backups that are to be deleted, and are there still.
	Remaining int
	// Due are the requests to be made now.
	Due []Deletion
	// Failed is how many Velero could not delete.
	Failed int
	// Problem is why it could not delete the first of them; empty if it could all.
	Problem string
	// WakeAt is when another request may have to be made; zero for never.
	WakeAt time.Time
}

// planDeletions decides which requests to make for backups that are to be deleted, in their order.
func (s Stored) planDeletions(condemned []*unstructured.Unstructured) Deletions {
	made := make(map[string]*unstructured.Unstructured, len(s.Requests))
	for _, request := range s.Requests {
		made[request.GetName()] = request
	}
	d := Deletions{Remaining: len(condemned)}
	var again []Deletion
	underWay := 0
	for _, backup := range condemned {
		one := Deletion{Backup: backup.GetName(), UID: backup.GetUID(), Attempt: 1}
		request := made[one.requestName()]
		if request == nil {
			d.Due = append(d.Due, one)
			continue
		}
		problem, at := fateOf(request, s.Now)
		if problem != "" {
			d.fail(one, problem)
		} else {
			underWay++
		}
		if problem == "" || s.RetryBy.Before(at) {
			d.WakeAt = times.Earliest(d.WakeAt, at)
			continue
		}
		one.Attempt, one.Failed = attemptOf(request)+1, request.GetUID()
		again = append(again, one)
	}
	// What was not tried yet comes first: what cannot be deleted holds up nothing else.
	d.Due = append(d.Due, again...)
	d.Due = d.Due[:min(len(d.Due), max(maxRequested-underWay, 0))]
	return d
}

func (d *Deletions) fail(one Deletion, why string) {
	if d.Failed++; d.Failed == 1 {
		d.Problem = truncate.Message(fmt.Sprintf("Velero could not delete backup %s: %s", one.Backup, why), history.MaxProblem)
	}
}

// fateOf a request says why it failed, and when another one is made. For one that is under way the problem is empty, and the
// time is when it is taken for stuck; zero for never.
func fateOf(request *unstructured.Unstructured, now time.Time) (problem string, at time.Time) {
	made := request.GetCreationTimestamp().Time
	again, stuck := made.Add(backoff(attemptOf(request))), made.Add(stuckDeletion)
	phase, _, _ := unstructured.NestedString(request.Object, "status", "phase")
	reasons, _, _ := unstructured.NestedStringSlice(request.Object, "status", "errors")
	switch {
	case phase == "" || phase == string(velerov1.DeleteBackupRequestPhaseNew):
		return "", time.Time{}
	case phase == string(velerov1.DeleteBackupRequestPhaseProcessed) && len(reasons) > 0:
		return reasons[0], again
	case now.Before(stuck):
		return "", stuck
	}
	return fmt.Sprintf("it is there %s after that was asked for", stuckDeletion), again
}

// attemptOf a request; whoever has rights in the cluster may have changed it.
func attemptOf(request *unstructured.Unstructured) int {
	attempt, err := strconv.Atoi(request.GetAnnotations()[metav1alpha1.AnnotationAttempt])
	if err != nil {
		return 1
	}
	return min(max(attempt, 1), maxAttempts)
}

func backoff(attempt int) time.Duration {
	return min(retryDeletion<<(attempt-1), MaxRetryDeletion)
}

// Told is what the status tells of deletions; nil for nothing.
func (d Deletions) Told() *backupv1alpha1.BackupDeletions {
	if d.Remaining == 0 {
		return nil
	}
	return &backupv1alpha1.BackupDeletions{Remaining: int32(d.Remaining), Failed: int32(d.Failed), Message: d.Problem}
}
