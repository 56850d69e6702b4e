package apply

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/resources"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

// stage orders what is applied: everything of a stage is there before the next begins.
type stage int

const (
	// prerequisites are namespaces and custom resource definitions: others need them to exist.
	prerequisites stage = iota
	others
)

// StageOf says in which stage objects of a kind are applied.
func StageOf(kind schema.GroupKind) stage {
	if objects.IsPrerequisite(kind) {
		return prerequisites
	}
	return others
}

// Object is one object as it should be in the cluster.
type Object struct {
	objects.Ref
	Stage stage
	// Body is what is applied, as JSON.
	Body []byte
	// Hash of the body, without the hash label itself.
	Hash string
	// Implied: the object only has to be there; one that is there already is its owner's business.
	Implied bool
	// Kept: the object stays when it leaves the source, and when the add-on ends.
	kept bool
	// Adoption of an object of that name that is there already.
	Adoption Adoption
	// AdoptBy is what people set to have more adopted, such as "spec.adopt: true"; empty if there is no such setting.
	AdoptBy string
	// external: it stands for something outside of the cluster.
	external bool
	// Environment: a pod template takes every key of it as an environment variable.
	Environment bool
	// replaceable: it is deleted and made anew where it cannot be changed.
	replaceable bool
}

// Declaration is an object as the source has it.
type Declaration struct {
	*unstructured.Unstructured
	Implied, Kept bool
	Adoption      Adoption
	AdoptBy       string
}

// Declare declares objects that come, are kept as they are, and go with the source.
func Declare(list []*unstructured.Unstructured) []Declaration {
	plain := make([]Declaration, 0, len(list))
	for _, object := range list {
		plain = append(plain, Declaration{Unstructured: object})
	}
	return plain
}

// UnknownKindError is a kind that the cluster does not serve, and that no definition in the same add-on
// brings.
type UnknownKindError struct{ ref objects.Ref }

// Error implements error.
func (e *UnknownKindError) Error() string {
	return fmt.Sprintf("%s: the cluster does not serve kind %s of %s; correct apiVersion and kind, or install its CRD first",
		e.ref, e.ref.Kind, e.ref.GroupVersion())
}

// resolver knows how a cluster serves kinds.
type resolver interface {
	Resource(ctx context.Context, kind schema.GroupVersionKind) (resources.Resource, error)
}

// ScopeObjects gives namespaced objects that name no namespace the default one, and refuses kinds that the cluster
// does not serve. Kinds that a CRD in the same set brings are taken at that CRD's word. A kind whose discovery fails
// has the scope of its objects in the inventory.
func ScopeObjects(ctx context.Context, cluster resolver, list []*unstructured.Unstructured, namespace string, applied Inventory) error {
	scopes := objects.DefinedKinds(list)
	for _, object := range list {
		kind := object.GroupVersionKind()
		namespaced, ok := scopes[kind.GroupKind()]
		if !ok {
			var err error
			namespaced, err = scopeOf(ctx, cluster, kind, applied)
			if meta.IsNoMatchError(err) {
				return &UnknownKindError{objects.RefOf(object)}
			}
			if err != nil {
				return err
			}
			scopes[kind.GroupKind()] = namespaced
		}
		switch {
		case !namespaced:
			object.SetNamespace("")
		case object.GetNamespace() == "":
			object.SetNamespace(namespace)
		}
	}
	return nil
}

// scopeOf says whether a kind is namespaced.
func scopeOf(ctx context.Context, cluster resolver, kind schema.GroupVersionKind, applied Inventory) (namespaced bool, err error) {
	namespaced, known := applied.scopeOf(kind.GroupKind())
	if known {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, maxDiscovery)
		defer cancel()
	}
	resource, err := cluster.Resource(ctx, kind)
	if err != nil && known && !meta.IsNoMatchError(err) {
		return namespaced, nil
	}
	return resource.Namespaced, err
}

// maxDiscovery is how long the discovery of a kind may hold up the correction of other objects, where the inventory
// can say as much: what an aggregated API server serves may take as long to discover as any request may take.
const maxDiscovery = 2 * time.Second

// Prepare turns declared objects into what is applied: labelled, hashed and serialized. The namespace is
// added if it is not empty, and not declared anyway.
func Prepare(list []Declaration, installation, namespace string) ([]Object, error) {
	prepared := make([]Object, 0, len(list)+1)
	variables := environments(list)
	taken := map[objects.Key]bool{}
	if namespace != "" {
		list = append(slices.Clip(list), Declaration{Unstructured: newNamespace(namespace), Implied: true})
	}
	for _, object := range list {
		ref := objects.RefOf(object.Unstructured)
		if taken[ref.Key()] && object.Implied {
			continue
		}
		if taken[ref.Key()] {
			return nil, fmt.Errorf("%s is declared twice; remove one", ref)
		}
		taken[ref.Key()] = true
		one, err := PrepareOne(object.Unstructured, installation)
		if err != nil {
			return nil, err
		}
		one.Implied, one.kept, one.Environment = object.Implied, object.Kept, variables[ref.Key()]
		one.Adoption, one.AdoptBy = object.Adoption, object.AdoptBy
		prepared = append(prepared, one)
	}
	return prepared, nil
}

// PrepareOne labels, hashes and serializes one object.
func PrepareOne(object *unstructured.Unstructured, installation string) (Object, error) {
	ref := objects.RefOf(object)
	labels := maps.Clone(object.GetLabels())
	if labels == nil {
		labels = map[string]string{}
	}
	labels[metav1alpha1.LabelManagedBy] = installation
	delete(labels, metav1alpha1.LabelHash)
	object.SetLabels(labels)
	unhashed, err := json.Marshal(object)
	if err != nil {
		return Object{}, fmt.Errorf("serialize %s: %w", ref, err)
	}
	digest := sha256.Sum256(unhashed)
	hash := hex.EncodeToString(digest[:8])
	labels[metav1alpha1.LabelHash] = "v1-" + hash
	object.SetLabels(labels)
	body, err := json.Marshal(object)
	if err != nil {
		return Object{}, fmt.Errorf("serialize %s: %w", ref, err)
	}
	return Object{Ref: ref, Stage: StageOf(ref.GroupKind()), Body: body, Hash: hash, external: isExternal(object), replaceable: isReplaceable(object)}, nil
}

func newNamespace(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name},
	}}
}
