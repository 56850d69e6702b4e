package orphans

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/internal/forbidden"
)

// +kubebuilder:rbac:groups=tenancy.daytwo.dev,resources=orphanrecords,verbs=get;create;update;delete;manage

// Records writes OrphanRecords.
type Records struct {
	// Reader reads from the API server, not from a cache.
	Reader client.Reader
	Writer client.Writer
}

// Write records what was not removed, in the namespace of its TenantCluster. What is recorded twice makes one record, with
// the objects of both. Where the namespace takes no record, as one that is going itself, that is no error: the Event is
// all there is then. That the manager may not write records is one: its role has to be mended, and the try repeated.
func (r Records) Write(ctx context.Context, namespace string, spec tenancyv1alpha1.OrphanRecordSpec) error {
	made := newRecord(namespace, spec)
	err := retry.OnError(retry.DefaultBackoff, raced, func() error {
		err := r.Writer.Create(ctx, made.DeepCopy())
		if !apierrors.IsAlreadyExists(err) {
			return err
		}
		return r.change(ctx, client.ObjectKeyFromObject(made), func(stored *tenancyv1alpha1.OrphanRecord) {
			joined := made.DeepCopy().Spec
			join(&joined, stored.Spec)
			stored.Spec = joined
		})
	})
	if err != nil && !isFinal(err) {
		return fmt.Errorf("write OrphanRecord %s/%s: %w", made.Namespace, made.Name, err)
	}
	log.FromContext(ctx).Info("orphan recorded", "cluster", namespace+"/"+spec.ClusterName, "object", made.Namespace+"/"+made.Name, "reason", spec.Reason, "objects", len(spec.Objects))
	return nil
}

// Revise changes a record as the API server has it by now. It deletes one whose last object goes, and does nothing if the
// record is gone.
func (r Records) Revise(ctx context.Context, key client.ObjectKey, revise func(*tenancyv1alpha1.OrphanRecord)) error {
	err := retry.OnError(retry.DefaultBackoff, apierrors.IsConflict, func() error {
		return client.IgnoreNotFound(r.change(ctx, key, revise))
	})
	if err != nil {
		return fmt.Errorf("update OrphanRecord %s: %w", key, err)
	}
	return nil
}

func (r Records) change(ctx context.Context, key client.ObjectKey, change func(*tenancyv1alpha1.OrphanRecord)) error {
	stored := &tenancyv1alpha1.OrphanRecord{}
	if err := r.Reader.Get(ctx, key, stored); err != nil {
		return err
	}
	changed := stored.DeepCopy()
	change(changed)
	tidy(changed)
	switch {
	case Count(changed.Spec) == 0 && Count(stored.Spec) > 0:
		return r.Writer.Delete(ctx, stored, client.Preconditions{UID: &stored.UID, ResourceVersion: &stored.ResourceVersion})
	case equality.Semantic.DeepEqual(stored, changed):
		return nil
	}
	return r.Writer.Update(ctx, changed)
}

// raced tells that the record was written meanwhile, or deleted.
func raced(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err)
}

// isFinal tells that no further try helps: the namespace is gone or going, its quota is used up, or a policy of the
// management cluster refuses the record. A deletion must not hang on what may be a customer's doing.
func isFinal(err error) bool {
	if forbidden.LacksRights(err) || forbidden.ByOurPolicy(err) {
		return false
	}
	return apierrors.IsNotFound(err) || apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err)
}
