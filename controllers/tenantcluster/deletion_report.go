package tenantcluster

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/deletion"
)

// Reasons and actions of Events about deletions, beside the names of steps.
const (
	eventGivenUp = "NotWaitedFor"
	actionDelete = "Delete"
)

// reportDeletion puts the step on record, once what was given up before it is told.
func reportDeletion(w *writer, p plan, done result) {
	if p.deletion.Record.Step == "" || done.unrecorded || p.release && !done.releasing {
		return
	}
	w.status.Deletion = p.deletion.Record.DeepCopy()
}

// deletionMessage says which step the deletion is at, and what that waits for.
func deletionMessage(p plan, done result) string {
	switch {
	case done.unrecorded:
		return fmt.Sprintf("What was given up could not be recorded; it is tried again: %s", done.err)
	case done.releasing:
		return fmt.Sprintf("%s: nothing is left to remove; it is tried again: %s", tenancyv1alpha1.DeletionReleasing, done.err)
	}
	message := fmt.Sprintf("%s: %s.", p.deletion.Record.Step, p.deletion.Waits)
	if done.err != nil {
		message += fmt.Sprintf(" The last try failed, and is repeated: %s", done.err)
	}
	return message
}

// deletionEvents tell of a step that waits.
func deletionEvents(before, after tenancyv1alpha1.TenantClusterStatus, step deletion.Step) []eventRecord {
	is := after.Deletion
	if is == nil || step.Waits == "" || before.Deletion != nil && before.Deletion.Step == is.Step {
		return nil
	}
	return []eventRecord{{corev1.EventTypeNormal, string(is.Step), actionDelete, fmt.Sprintf("The deletion is at step %s: %s.", is.Step, step.Waits)}}
}

func findCondition(o observation, kind string) *metav1.Condition {
	return meta.FindStatusCondition(o.cluster.Status.Conditions, kind)
}
