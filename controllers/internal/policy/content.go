package policy

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/revision"
)

// observeContent reads the policy's content, unless it is known and stored already.
func (r *Reconciler[P, T]) observeContent(ctx context.Context, o *observation[P, T]) error {
	content, err := r.Kind.Content(ctx, o.policy, o.now)
	if err != nil {
		return err
	}
	o.content = content
	o.refuse(content.Stall)
	if content.Read == nil {
		return nil
	}
	inputs, err := r.contentInputs(ctx, o.policy, content.Version)
	if err != nil {
		return err
	}
	known := r.contents.Of(client.ObjectKeyFromObject(o.policy))
	if known.snapshot != nil && known.inputs == inputs && known.snapshot.StoredIn(o.view.stored) {
		o.snapshot = known.snapshot
		return nil
	}
	encoded, stall, err := content.Read(ctx)
	if err == nil && stall == nil {
		o.snapshot, err = revision.NewSnapshot(o.policy.GetName(), encoded)
		if tooLarge := (*revision.TooLargeError)(nil); errors.As(err, &tooLarge) {
			stall, err = &Stall{Reason: metav1alpha1.ReasonInvalidSpec, Message: tooLarge.Error()}, nil
		}
	}
	if err != nil {
		return err
	}
	if o.snapshot != nil {
		*known = knownContent{inputs: inputs, snapshot: o.snapshot.WithoutContent()}
	}
	o.refuse(stall)
	return nil
}

// contentInputs changes whenever the content may have changed. It costs no request.
func (r *Reconciler[P, T]) contentInputs(ctx context.Context, policy P, version string) (string, error) {
	inputs := []string{string(policy.GetUID()), fmt.Sprint(policy.GetGeneration()), version}
	for _, reference := range r.Kind.References(policy) {
		if reference.Access {
			continue
		}
		found := objects.MetadataOf(corev1.SchemeGroupVersion.WithKind(reference.Kind))
		err := r.Client.Get(ctx, types.NamespacedName{Namespace: policy.GetNamespace(), Name: reference.Name}, found)
		if client.IgnoreNotFound(err) != nil {
			return "", fmt.Errorf("look up %s %s: %w", reference.Kind, reference.Name, err)
		}
		inputs = append(inputs, string(found.UID), found.ResourceVersion)
	}
	return strings.Join(inputs, "/"), nil
}

// knownContent is which snapshot some inputs gave, so that a rollout does not read and
// hash the same content again for every target that becomes ready. It holds no content.
type knownContent struct {
	inputs   string
	snapshot *revision.Snapshot
}
