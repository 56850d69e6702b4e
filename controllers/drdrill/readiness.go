package drdrill

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/run"
	"github.com/daytwo-dev/daytwo/controllers/internal/truncate"
)

// workloads are the kinds that have to become ready. Pods of others are made by these.
var workloads = []schema.GroupVersionKind{
	{Group: "apps", Version: "v1", Kind: "Deployment"},
	{Group: "apps", Version: "v1", Kind: "StatefulSet"},
	{Group: "apps", Version: "v1", Kind: "DaemonSet"},
	{Group: "batch", Version: "v1", Kind: "Job"},
	{Version: "v1", Kind: "Pod"},
}

const (
	// maxWorkloads is how many objects of one kind are watched.
	maxWorkloads = 500
	// maxNamed is how many objects a message names.
	maxNamed = 5
)

// Selections implements run.Kind: the workloads that were restored.
func (r *Reconciler) Selections(drill *backupv1alpha1.DRDrill) []run.Selection {
	if drill.Status.Task(taskVerify) == nil {
		return nil
	}
	var selections []run.Selection
	for _, kind := range workloads {
		selections = append(selections, run.Selection{Cluster: targetKey(drill), Selection: fleet.Selection{
			Kind: kind, Selector: velerov1.RestoreNameLabel + "=" + nameOf(drill, actionRestore), Limit: maxWorkloads,
		}})
	}
	return selections
}

// readinessOf the workloads; without a result as long as they are waited for.
func readinessOf(v view) backupv1alpha1.DrillCheck {
	drill, due := v.Run, !v.Now.Before(readyUntil(v))
	var waits, unknown []string
	count, pending := 0, false
	for _, selection := range new(Reconciler).Selections(drill) {
		shown := v.Observed(selection)
		pending = pending || shown.Pending() && v.Unreachable(targetKey(drill)) == ""
		if shown.Pending() || shown.Unknown != "" || shown.Incomplete {
			unknown = append(unknown, selection.Kind.Kind+"s: "+cmp.Or(v.Unreachable(targetKey(drill)), whyUnknown(shown)))
		}
		for _, object := range shown.Objects {
			if !isRestored(drill, object) {
				continue
			}
			count++
			if why := whyNotReady(object); why != "" {
				waits = append(waits, why)
			}
		}
	}
	switch {
	case len(waits) == 0 && len(unknown) == 0:
		return check(backupv1alpha1.CheckReadiness, backupv1alpha1.CheckPassed, "%d workloads are ready", count)
	case !due, pending: // A manager that starts too late for the deadline has seen nothing yet.
		return check(backupv1alpha1.CheckReadiness, "", "waits until %s", truncate.Names(append(unknown, waits...), maxNamed))
	case len(waits) > 0:
		return check(backupv1alpha1.CheckReadiness, backupv1alpha1.CheckFailed, "%d of %d workloads are not ready after %s: %s",
			len(waits), count, drill.Spec.Verify.ReadinessTimeout.Duration, truncate.Names(waits, maxNamed))
	}
	return check(backupv1alpha1.CheckReadiness, backupv1alpha1.CheckNotChecked, "%s", truncate.Names(unknown, maxNamed))
}

func whyUnknown(shown fleet.Observed) string {
	switch {
	case shown.Unknown != "":
		return shown.Unknown
	case shown.Incomplete:
		return fmt.Sprintf("there are more than the %d that are watched", maxWorkloads)
	}
	return "waits for the first list"
}

// isRestored is whether an object is one of the drill's that nothing else in it looks after, and that is to run. The label
// alone proves little: whoever has rights in the cluster may set it.
func isRestored(drill *backupv1alpha1.DRDrill, object *unstructured.Unstructured) bool {
	if suspended, _, _ := unstructured.NestedBool(object.Object, "spec", "suspend"); suspended {
		return false
	}
	inNamespace := func(namespace backupv1alpha1.DrillNamespace) bool {
		return namespace.RestoredAs == object.GetNamespace()
	}
	return metav1.GetControllerOfNoCopy(object) == nil && slices.ContainsFunc(drill.Status.Namespaces, inNamespace)
}

// whyNotReady says what kstatus says of an object that is not Current; empty for one that is.
func whyNotReady(object *unstructured.Unstructured) string {
	result, err := status.Compute(object)
	switch {
	case err != nil:
		return fmt.Sprintf("%s: %s", objects.RefOf(object), err)
	case result.Status != status.CurrentStatus:
		return fmt.Sprintf("%s is %s: %s", objects.RefOf(object), result.Status, result.Message)
	}
	return ""
}
