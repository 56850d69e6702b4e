package certificatebundle

import (
	"context"
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/certificatebundle/rotation"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy"
	"github.com/daytwo-dev/daytwo/controllers/internal/times"
)

// lookForLost is when an authority that is not there is looked for again. No event tells of one whose record is lost, too.
const lookForLost = time.Minute

// Coordinate implements policy.CoordinatingKind: it decides what each cluster is told of the bundle's own authorities.
func (r *Reconciler) Coordinate(
	ctx context.Context, bundle *certificatesv1alpha1.CertificateBundle,
	record func(context.Context, func(*certificatesv1alpha1.CertificateBundle)) error, now time.Time,
) (policy.Coordination, error) {
	if bundle.Spec.CA == nil || r.issuing == nil {
		return policy.Coordination{}, nil
	}
	input, roots, err := r.rotationInput(ctx, bundle, now)
	if err != nil {
		return policy.Coordination{}, err
	}
	plan, input, err := r.rotate(ctx, bundle, input, roots, record)
	if err != nil {
		return policy.Coordination{}, err
	}
	next, err := r.decide(ctx, bundle, plan, input, roots)
	if err != nil {
		return policy.Coordination{}, err
	}
	key := client.ObjectKeyFromObject(bundle)
	r.warn(bundle, r.decisions.of(key), plan)
	changed := r.decisions.set(key, next)
	r.issuing.Assign(key, next.issuers())
	if plan.Held {
		plan.Again = times.Earliest(plan.Again, now.Add(lookForLost))
	}
	return policy.Coordination{Changed: changed, Again: plan.Again}, r.tidy(ctx, bundle, plan)
}

// warn tells once of what is lost, or was overridden: some of it holds for one plan alone.
func (r *Reconciler) warn(bundle *certificatesv1alpha1.CertificateBundle, before *decision, plan rotation.Plan) {
	for _, one := range plan.Notices {
		if degrading[one.Reason] && (before == nil || !slices.Contains(before.plan.Notices, one)) {
			r.Recorder.Eventf(bundle, nil, corev1.EventTypeWarning, one.Reason, "Rotate", "%s", one.Message)
		}
	}
}

// tidy removes what no rotation needs any more.
func (r *Reconciler) tidy(ctx context.Context, bundle *certificatesv1alpha1.CertificateBundle, plan rotation.Plan) error {
	var errs []error
	for _, generation := range plan.Retired {
		errs = append(errs, r.authorities.Retire(ctx, bundle, generation))
	}
	return errors.Join(append(errs, r.authorities.PruneMembers(ctx, bundle, plan.Record.Members.Hash))...)
}

// Release implements policy.ReleasingKind: no key of a bundle's own authorities outlives it.
func (r *Reconciler) Release(ctx context.Context, bundle *certificatesv1alpha1.CertificateBundle) error {
	if bundle.Spec.CA == nil {
		return nil
	}
	return r.authorities.RemoveAll(ctx, bundle)
}
