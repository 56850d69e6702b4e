package certificatebundle

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/certificatebundle/authority"
	"github.com/daytwo-dev/daytwo/controllers/certificatebundle/rotation"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
)

// maxSteps is how often a rotation is planned in one reconcile: from the cache, from a list past it, after reads by name, and
// with an authority that was made.
const maxSteps = 6

// recorder stores what has to be in the status of a bundle before anything else is written.
type recorder func(ctx context.Context, set func(bundle *certificatesv1alpha1.CertificateBundle)) error

// rotationInput is what is known without a list past the cache. Between rotations, the clusters do not matter.
func (r *Reconciler) rotationInput(ctx context.Context, bundle *certificatesv1alpha1.CertificateBundle, now time.Time) (rotation.Input, map[int64]authority.Root, error) {
	input := rotation.Input{
		Namespace: bundle.Namespace, PolicyUID: string(bundle.UID), Now: now,
		Confirmation: bundle.Annotations[metav1alpha1.AnnotationConfirmEmergency],
	}
	if bundle.Spec.Rotation != nil {
		input.Spec = *bundle.Spec.Rotation
	}
	if bundle.Status.Rotation != nil {
		input.Record = bundle.Status.Rotation.RotationRecord
	}
	found, err := r.authorities.List(ctx, bundle, now, neededOf(input.Record)...)
	if err != nil {
		return input, nil, err
	}
	roots := map[int64]authority.Root{}
	for _, root := range found {
		roots[root.Generation] = root
		input.Authorities = append(input.Authorities, authorityOf(root))
	}
	if input.Record.Phase == "" || input.Record.Phase == rotation.Idle {
		return input, roots, nil
	}
	if input.Membership, err = r.readMembers(ctx, bundle, input.Record.Members.Hash); err != nil {
		return input, nil, err
	}
	input.Clusters, err = r.participants(ctx, r.Client, bundle)
	return input, roots, err
}

// neededOf are the generations that a record names with their anchors, so that they were made.
func neededOf(record rotation.Record) (generations []int64) {
	for _, known := range []rotation.Reference{record.Current, record.Next} {
		if known.Anchor != "" {
			generations = append(generations, known.Generation)
		}
	}
	return generations
}

func authorityOf(root authority.Root) rotation.Authority {
	return rotation.Authority{Generation: root.Generation, Anchor: root.Anchor, CreatedAt: root.NotBefore}
}

// readMembers reads those that the record refers to; none if they are lost. They are remembered, since they never change.
func (r *Reconciler) readMembers(ctx context.Context, bundle *certificatesv1alpha1.CertificateBundle, hash string) (rotation.Membership, error) {
	if hash == "" {
		return rotation.Membership{}, nil
	}
	if known := r.decisions.of(client.ObjectKeyFromObject(bundle)); known != nil && known.plan.Record.Members.Hash == hash {
		return known.plan.Membership, nil
	}
	encoded, err := r.authorities.ReadMembers(ctx, bundle, hash)
	if err != nil || encoded == nil {
		return rotation.Membership{}, err
	}
	members, err := rotation.DecodeMembership(encoded)
	if err != nil {
		return rotation.Membership{}, nil //nolint:nilerr // What cannot be read is lost, which the plan says.
	}
	return members, nil
}

// rotate plans until there is nothing more to find out. What a plan needs is stored in the order that package rotation asks for.
func (r *Reconciler) rotate(
	ctx context.Context, bundle *certificatesv1alpha1.CertificateBundle, input rotation.Input, roots map[int64]authority.Root, record recorder,
) (rotation.Plan, rotation.Input, error) {
	var plan rotation.Plan
	lookedUp := false
	for range maxSteps {
		plan = rotation.PlanRotation(input)
		var err error
		switch {
		case plan.NeedsList && !input.Listed:
			input.Listed = true
			if input.Clusters, err = r.participants(ctx, r.APIReader, bundle); err != nil {
				return plan, input, err
			}
			continue
		case len(plan.LookUp) > 0 && !lookedUp:
			lookedUp = true
			if err := r.lookUp(ctx, bundle, plan.LookUp, &input); err != nil {
				return plan, input, err
			}
			continue
		}
		if err := r.store(ctx, bundle, input.Record, plan, record); err != nil {
			return plan, input, err
		}
		input.Record, input.Membership = plan.Record, plan.Membership
		if plan.MakeAuthority == 0 {
			break
		}
		root, err := r.authorities.Make(ctx, bundle, plan.MakeAuthority, input.Now)
		if err != nil {
			return plan, input, err // What was decided before holds: nothing is told of an authority that is not there.
		}
		roots[root.Generation] = root
		input.Authorities = append(input.Authorities, authorityOf(root))
	}
	return plan, input, nil
}

// store stores what a plan rests on: the members, and then the record that names them.
func (r *Reconciler) store(ctx context.Context, bundle *certificatesv1alpha1.CertificateBundle, before rotation.Record, plan rotation.Plan, record recorder) error {
	if hash := plan.Record.Members.Hash; hash != before.Members.Hash && hash != "" {
		encoded, err := plan.Membership.Encode()
		if err != nil {
			return err
		}
		if err := r.authorities.WriteMembers(ctx, bundle, hash, encoded); err != nil {
			return err
		}
	}
	if equality.Semantic.DeepEqual(before, plan.Record) {
		return nil
	}
	err := record(ctx, func(bundle *certificatesv1alpha1.CertificateBundle) {
		if bundle.Status.Rotation == nil {
			bundle.Status.Rotation = &certificatesv1alpha1.RotationStatus{}
		}
		bundle.Status.Rotation.RotationRecord = plan.Record
	})
	if err == nil && before.Phase != plan.Record.Phase && before.Phase != "" {
		r.Recorder.Eventf(bundle, nil, corev1.EventTypeNormal, "Rotation"+string(plan.Record.Phase), "Rotate", "%s", phaseMessage(plan.Record))
	}
	return err
}

// lookUp reads deliveries by their names, past the cache.
func (r *Reconciler) lookUp(ctx context.Context, bundle *certificatesv1alpha1.CertificateBundle, members []rollout.ClusterKey, input *rotation.Input) error {
	found := map[rollout.ClusterKey]*rotation.Cluster{}
	for i := range input.Clusters {
		one := input.Clusters[i]
		found[one.ClusterKey] = &one
	}
	for _, key := range members {
		delivery := &certificatesv1alpha1.CertificateDelivery{}
		err := r.APIReader.Get(ctx, client.ObjectKey{Namespace: bundle.Namespace, Name: rollout.TargetName(bundle.Name, key)}, delivery)
		switch {
		case apierrors.IsNotFound(err):
			input.Gone = append(input.Gone, key)
			continue
		case err != nil:
			return fmt.Errorf("read the delivery of %s/%s in %s/%s: %w", bundle.Namespace, bundle.Name, key.Namespace, key.Name, err)
		}
		if err := r.addDelivery(ctx, r.APIReader, delivery, found); err != nil {
			return err
		}
	}
	input.Clusters = inOrder(found)
	return nil
}
