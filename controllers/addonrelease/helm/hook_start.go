package helm

import (
	"context"
	"encoding/json"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
)

// annotationOperation marks a hook's object with the run that made it.
const annotationOperation = "daytwo.dev/operation"

// start creates a hook's object, once what an earlier run left there is gone. After a crash the object
// of this run may be there already. What is there may be deleted, by the UID that it is read with, so the cluster is
// confirmed first.
func (h *hookRunner) start(ctx context.Context, one Hook, run *addonsv1alpha1.HookRun) error {
	if err := h.Cluster.Confirm(ctx); err != nil {
		return err
	}
	there, err := h.Cluster.Get(ctx, one.Ref)
	switch {
	case apierrors.IsNotFound(err):
		return h.create(ctx, one, run)
	case err != nil:
		return err
	case there.Annotations[annotationOperation] == h.mark(run):
		run.UID = string(there.UID)
		return nil
	case !one.isDeleted(deleteBefore):
		h.end(run, addonsv1alpha1.HookFailed, "is there already, from an earlier run or by somebody else; delete it, or add before-hook-creation to its helm.sh/hook-delete-policy")
		return nil
	}
	if err := apply.Delete(ctx, h.Cluster, one.Ref, there.UID); err != nil {
		return err
	}
	if _, err = h.Cluster.Get(ctx, one.Ref); apierrors.IsNotFound(err) {
		return h.create(ctx, one, run)
	}
	run.Message = "waits until the one of an earlier run is gone"
	h.result.Recheck = true
	return err
}

// mark tells a run's object from those of other runs, also of the same operation.
func (h *hookRunner) mark(run *addonsv1alpha1.HookRun) string {
	return h.operation.ID + "." + strconv.FormatInt(run.StartedAt.UnixMicro(), 10)
}

// create makes a hook's object.
func (h *hookRunner) create(ctx context.Context, one Hook, run *addonsv1alpha1.HookRun) error {
	body, err := h.body(one, run)
	if err != nil {
		return err
	}
	answer, err := h.Cluster.Apply(ctx, one.Ref, "", body, true)
	if err != nil && apply.IsFinal(err) {
		h.end(run, addonsv1alpha1.HookFailed, apply.Explain(one.Ref, err))
		return nil
	}
	if err != nil {
		return err
	}
	run.UID, run.Message = string(answer.UID), ""
	return nil
}

func (h *hookRunner) body(one Hook, run *addonsv1alpha1.HookRun) ([]byte, error) {
	object := one.object.DeepCopy()
	object.SetLabels(labels.Merge(object.GetLabels(), labels.Set{metav1alpha1.LabelManagedBy: h.Installation}))
	object.SetAnnotations(labels.Merge(object.GetAnnotations(), labels.Set{annotationOperation: h.mark(run)}))
	return json.Marshal(object)
}
