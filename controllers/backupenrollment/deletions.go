package backupenrollment

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
	// maxRetryDeletion is how long after a request that failed another one is made at most.
	maxRetryDeletion = 8 * time.Hour
	// stuckDeletion is how long Velero may work on a request. One that it worked on when it was killed stays as it is.
	stuckDeletion = 2 * time.Hour
	// maxAttempts is up to where they are counted.
	maxAttempts = 12
	// maxRequestName is how long the name of a request may be.
	maxRequestName = 63
)

// deletion is a backup that Velero is asked to delete.
type deletion struct {
	// backup is its name, and uid its UID.
	backup string
	uid    types.UID
	// attempt counts from 1.
	attempt int
	// failed is the request before, which gives way to this one; empty for none.
	failed types.UID
}

// requestName follows from the backup, so that a request that is there already is not made again.
func (d deletion) requestName() string {
	return objects.ShortName(maxRequestName, d.backup, d.backup+"/"+string(d.uid))
}

// request is what Velero deletes a backup by. Its labels are those that Velero's own requests have: one that is under way
// keeps Velero from making another.
func (d deletion) request(own *backupv1alpha1.VeleroObjects) *unstructured.Unstructured {
	labels := map[string]string{metav1alpha1.LabelBackup: own.Name, velerov1.BackupUIDLabel: string(d.uid)}
	if len(d.backup) <= maxRequestName { // Velero sets a longer one itself.
		labels[velerov1.BackupNameLabel] = d.backup
	}
	request := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"backupName": d.backup}}}
	request.SetGroupVersionKind(veleroobjects.DeletionKind)
	request.SetNamespace(own.Namespace)
	request.SetName(d.requestName())
	request.SetLabels(labels)
	request.SetAnnotations(map[string]string{metav1alpha1.AnnotationAttempt: strconv.Itoa(d.attempt)})
	return request
}

// deletions are how far the deletion of backups has come.
type deletions struct {
	// remaining are the backups that are to be deleted, and are there still.
	remaining int
	// due are the requests to be made now.
	due []deletion
	// failed is how many Velero could not delete.
	failed int
	// problem is why it could not delete the first of them; empty if it could all.
	problem string
	// wakeAt is when another request may have to be made; zero for never.
	wakeAt time.Time
}

// planDeletions decides which requests to make for backups that are to be deleted, in their order.
func (s stored) planDeletions(condemned []*unstructured.Unstructured) deletions {
	made := make(map[string]*unstructured.Unstructured, len(s.requests))
	for _, request := range s.requests {
		made[request.GetName()] = request
	}
	d := deletions{remaining: len(condemned)}
	var again []deletion
	underWay := 0
	for _, backup := range condemned {
		one := deletion{backup: backup.GetName(), uid: backup.GetUID(), attempt: 1}
		request := made[one.requestName()]
		if request == nil {
			d.due = append(d.due, one)
			continue
		}
		problem, at := fateOf(request, s.now)
		if problem != "" {
			d.fail(one, problem)
		} else {
			underWay++
		}
		if problem == "" || s.retryBy.Before(at) {
			d.wakeAt = times.Earliest(d.wakeAt, at)
			continue
		}
		one.attempt, one.failed = attemptOf(request)+1, request.GetUID()
		again = append(again, one)
	}
	// What was not tried yet comes first: what cannot be deleted holds up nothing else.
	d.due = append(d.due, again...)
	d.due = d.due[:min(len(d.due), max(maxRequested-underWay, 0))]
	return d
}

func (d *deletions) fail(one deletion, why string) {
	if d.failed++; d.failed == 1 {
		d.problem = truncate.Message(fmt.Sprintf("Velero could not delete backup %s: %s", one.backup, why), history.MaxProblem)
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
	return min(retryDeletion<<(attempt-1), maxRetryDeletion)
}

// told is what the status tells of deletions; nil for nothing.
func (d deletions) told() *backupv1alpha1.BackupDeletions {
	if d.remaining == 0 {
		return nil
	}
	return &backupv1alpha1.BackupDeletions{Remaining: int32(d.remaining), Failed: int32(d.failed), Message: d.problem}
}
