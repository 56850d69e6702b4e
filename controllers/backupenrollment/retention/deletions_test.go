package retention

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/backuptest"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

func TestWhenVeleroIsAskedToDelete(t *testing.T) {
	backup := backuptest.StoredAt(50, "Completed")
	for name, test := range map[string]struct {
		request *unstructured.Unstructured
		// attempt is that of the request to be made; 0 for none.
		attempt, failed int
		// wake is in how long to look again; 0 for never.
		wake time.Duration
	}{
		"not yet":                                   {nil, 1, 0, 0},
		"Velero has not taken it up":                {requestFor(backup, 1, 10*time.Hour, ""), 0, 0, 0},
		"it is new to Velero":                       {requestFor(backup, 1, 10*time.Hour, "New"), 0, 0, 0},
		"Velero works on it":                        {requestFor(backup, 1, time.Minute, "InProgress"), 0, 0, 2*time.Hour - time.Minute},
		"Velero was killed over it":                 {requestFor(backup, 1, 2*time.Hour, "InProgress"), 2, 1, 0},
		"it is done, and the backup is seen still":  {requestFor(backup, 1, time.Minute, "Processed"), 0, 0, 2*time.Hour - time.Minute},
		"it is done, and the backup stays":          {requestFor(backup, 1, 3*time.Hour, "Processed"), 2, 1, 0},
		"it failed just now":                        {requestFor(backup, 1, 10*time.Second, "Processed", "no"), 0, 1, 20 * time.Second},
		"it failed a while ago":                     {requestFor(backup, 1, 5*time.Minute, "Processed", "no"), 2, 1, 0},
		"it failed again":                           {requestFor(backup, 2, 30*time.Second, "Processed", "no"), 0, 1, 30 * time.Second},
		"it failed again and again":                 {requestFor(backup, 11, 7*time.Hour, "Processed", "no"), 0, 1, time.Hour},
		"it failed more often than anybody counts":  {requestFor(backup, 1<<40, 8*time.Hour, "Processed", "no"), maxAttempts + 1, 1, 0},
		"somebody made the count mean nothing":      {requestFor(backup, -7, 5*time.Minute, "Processed", "no"), 2, 1, 0},
		"somebody made a phase that Velero has not": {requestFor(backup, 1, time.Minute, "Wondering"), 0, 0, 2*time.Hour - time.Minute},
	} {
		var requests []*unstructured.Unstructured
		if test.request != nil {
			requests = append(requests, test.request)
		}
		d := Stored{Requests: requests, Now: backuptest.Noon, RetryBy: backuptest.Noon}.planDeletions([]*unstructured.Unstructured{backup})
		attempt := 0
		if len(d.Due) > 0 {
			attempt = d.Due[0].Attempt
			if replaces := d.Due[0].Failed != ""; replaces != (test.attempt > 1) {
				t.Errorf("%s: the request before goes: %t", name, replaces)
			}
		}
		if attempt != test.attempt || d.Failed != test.failed || d.Remaining != 1 {
			t.Errorf("%s: attempt %d, failed %d, remaining %d", name, attempt, d.Failed, d.Remaining)
		}
		if want := backuptest.Noon.Add(test.wake); test.wake == 0 && !d.WakeAt.IsZero() || test.wake != 0 && !d.WakeAt.Equal(want) {
			t.Errorf("%s: it is looked again at %s, not in %s", name, d.WakeAt, test.wake)
		}
	}
}

func TestAFewAreDeletedAtATimeAndWhatFailsHoldsUpNothing(t *testing.T) {
	var backups, requests []*unstructured.Unstructured
	for i := range 20 {
		backups = append(backups, backuptest.StoredAt(99-i, "Completed"))
	}
	if due := (Stored{Now: backuptest.Noon, RetryBy: backuptest.Noon}).planDeletions(backups).Due; len(due) != maxRequested || due[0].Backup != "nightly-99" {
		t.Errorf("%v are due", due)
	}
	for _, backup := range backups[:10] {
		requests = append(requests, requestFor(backup, 1, time.Hour, "Processed", "no"))
	}
	for _, backup := range backups[10:13] {
		requests = append(requests, requestFor(backup, 1, time.Minute, "InProgress"))
	}
	d := Stored{Requests: requests, Now: backuptest.Noon, RetryBy: backuptest.Noon}.planDeletions(backups)
	if due := namesOf(d.Due); !slices.Equal(due, []string{"nightly-86", "nightly-85"}) || d.Failed != 10 {
		t.Errorf("%v are due, %d failed", due, d.Failed)
	}
}

// answers is a cluster with one backup, which says what a test wants it to.
type answers struct {
	backup *unstructured.Unstructured
	create error
	// requests are those that were made; deleted are the UIDs of those that were deleted.
	requests []*unstructured.Unstructured
	deleted  []types.UID
}

func (a *answers) Confirm(context.Context) error { return nil }

func (a *answers) Lookup(_ context.Context, ref objects.Ref) (map[string]any, error) {
	if a.backup == nil || ref.Name != a.backup.GetName() {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "backups"}, ref.Name)
	}
	return a.backup.Object, nil
}

func (a *answers) Create(_ context.Context, _ objects.Ref, body []byte) (*metav1.PartialObjectMetadata, error) {
	request := &unstructured.Unstructured{}
	if err := request.UnmarshalJSON(body); err != nil {
		return nil, err
	}
	a.requests = append(a.requests, request)
	return &metav1.PartialObjectMetadata{}, a.create
}

func (a *answers) Delete(_ context.Context, _ objects.Ref, uid types.UID) error {
	a.deleted = append(a.deleted, uid)
	return nil
}

func TestABackupIsLookedAtOnceMoreBeforeItGoes(t *testing.T) {
	for name, test := range map[string]struct {
		change func(backup *unstructured.Unstructured)
		asked  bool
	}{
		"as it was":         {func(*unstructured.Unstructured) {}, true},
		"another took over": {func(backup *unstructured.Unstructured) { backup.SetUID("another") }, false},
		"it is elsewhere": {func(backup *unstructured.Unstructured) {
			_ = unstructured.SetNestedField(backup.Object, "default", "spec", "storageLocation")
		}, false},
		"it is not ours": {func(backup *unstructured.Unstructured) { backup.SetLabels(nil) }, false},
		"it runs again": {func(backup *unstructured.Unstructured) {
			_ = unstructured.SetNestedField(backup.Object, "InProgress", "status", "phase")
		}, false},
		"it is gone": {func(backup *unstructured.Unstructured) { backup.SetName("gone") }, false},
	} {
		backup := backuptest.StoredAt(50, "Completed")
		noError(t, unstructured.SetNestedField(backup.Object, "nightly-1", "spec", "storageLocation"))
		one := Deletion{Backup: backup.GetName(), UID: backup.GetUID(), Attempt: 1}
		test.change(backup)
		cluster := &answers{backup: backup}
		noError(t, RequestDeletions(t.Context(), cluster, backuptest.Kept(time.Hour, 1), []Deletion{one}))
		if asked := len(cluster.requests) == 1; asked != test.asked {
			t.Errorf("%s: Velero is asked: %t", name, asked)
		}
	}
}

func TestARequestIsMadeOnce(t *testing.T) {
	backup := backuptest.StoredAt(50, "Completed")
	noError(t, unstructured.SetNestedField(backup.Object, "nightly-1", "spec", "storageLocation"))
	one := Deletion{Backup: backup.GetName(), UID: backup.GetUID(), Attempt: 2, Failed: "first"}
	cluster := &answers{backup: backup}
	for _, cluster.create = range []error{nil, apierrors.NewAlreadyExists(schema.GroupResource{Resource: "deletebackuprequests"}, "")} {
		noError(t, RequestDeletions(t.Context(), cluster, backuptest.Kept(time.Hour, 1), []Deletion{one}))
	}
	first, second := cluster.requests[0], cluster.requests[1]
	if first.GetName() != second.GetName() || first.GetName() == (Deletion{Backup: one.Backup, UID: "another"}).requestName() {
		t.Errorf("the name does not follow from the backup: %s and %s", first.GetName(), second.GetName())
	}
	name, _, _ := unstructured.NestedString(first.Object, "spec", "backupName")
	if name != one.Backup || first.GetNamespace() != "velero" || first.GetAnnotations()[metav1alpha1.AnnotationAttempt] != "2" {
		t.Errorf("got %+v", first.Object)
	}
	if !slices.Equal(cluster.deleted, []types.UID{"first", "first"}) {
		t.Errorf("the request that failed stays: %v", cluster.deleted)
	}
	cluster.create = errors.New("no answer")
	if err := RequestDeletions(t.Context(), cluster, backuptest.Kept(time.Hour, 1), []Deletion{one}); !errors.Is(err, cluster.create) {
		t.Errorf("got %v", err)
	}
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func namesOf(due []Deletion) (names []string) {
	for _, one := range due {
		names = append(names, one.Backup)
	}
	return names
}

// requestFor is a request to delete a backup, made so long before noon.
func requestFor(backup *unstructured.Unstructured, attempt int, ago time.Duration, phase string, errs ...any) *unstructured.Unstructured {
	request := Deletion{Backup: backup.GetName(), UID: backup.GetUID(), Attempt: attempt}.Request(backuptest.Kept(time.Hour, 1))
	request.SetUID(types.UID(fmt.Sprintf("request-%d-for-%s", attempt, backup.GetName())))
	request.SetCreationTimestamp(metav1.NewTime(backuptest.Noon.Add(-ago)))
	request.Object["status"] = map[string]any{"phase": phase, "errors": errs}
	return request
}
