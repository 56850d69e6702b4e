package policy

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

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
	key := client.ObjectKeyFromObject(o.policy)
	inputs, err := r.contentInputs(ctx, o.policy, content.Version)
	if err != nil {
		return err
	}
	if known := r.contents.recall(key, inputs); known != nil && known.StoredIn(o.view.stored) {
		o.snapshot = known
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
		r.contents.remember(key, inputs, o.snapshot)
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

// contentCache remembers which snapshot some inputs gave, so that a rollout does not read and
// hash the same content again for every target that becomes ready. It holds no content.
type contentCache struct {
	mutex sync.Mutex
	known map[types.NamespacedName]knownContent
}

type knownContent struct {
	inputs   string
	snapshot *revision.Snapshot
}

func (m *contentCache) recall(policy types.NamespacedName, inputs string) *revision.Snapshot {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if known, ok := m.known[policy]; ok && known.inputs == inputs {
		return known.snapshot
	}
	return nil
}

func (m *contentCache) remember(policy types.NamespacedName, inputs string, snapshot *revision.Snapshot) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.known == nil {
		m.known = map[types.NamespacedName]knownContent{}
	}
	m.known[policy] = knownContent{inputs: inputs, snapshot: snapshot.WithoutContent()}
}

func (m *contentCache) forget(policy types.NamespacedName) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	delete(m.known, policy)
}
