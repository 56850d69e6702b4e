package bounded

import (
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	kjson "sigs.k8s.io/json"

	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

// Head is what there is to know of an object that is not wanted.
type Head struct {
	namespace, name string
	version         string
	UID             types.UID
	// Independent is false for an object that a controller made for another one, and for Helm's hooks and records.
	Independent bool
}

// headOf decodes the head of an object, and nothing else of it.
func headOf(raw []byte) (Head, error) {
	var object struct {
		Metadata struct {
			Namespace       string    `json:"namespace"`
			Name            string    `json:"name"`
			UID             types.UID `json:"uid"`
			ResourceVersion string    `json:"resourceVersion"`
			OwnerReferences []struct {
				Controller bool `json:"controller"`
			} `json:"ownerReferences"`
			Labels struct {
				Owner string `json:"owner"`
			} `json:"labels"`
			Annotations struct {
				Hook string `json:"helm.sh/hook"`
			} `json:"annotations"`
		} `json:"metadata"`
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &object); err != nil {
		return Head{}, err
	}
	head := object.Metadata
	controlled := false
	for _, owner := range head.OwnerReferences {
		controlled = controlled || owner.Controller
	}
	return Head{
		namespace: head.Namespace, name: head.Name, version: head.ResourceVersion, UID: head.UID,
		Independent: !controlled && isOfNoRelease(head.Annotations.Hook, head.Labels.Owner),
	}, CheckIdentifiers(head.UID, head.ResourceVersion)
}

// headOfMetadata is the head of an object whose metadata is decoded.
func headOfMetadata(object *metav1.PartialObjectMetadata) Head {
	return Head{
		namespace: object.Namespace, name: object.Name, version: object.ResourceVersion, UID: object.UID,
		Independent: metav1.GetControllerOfNoCopy(object) == nil && isOfNoRelease(object.Annotations["helm.sh/hook"], object.Labels["owner"]),
	}
}

// isOfNoRelease is false for Helm's hooks and records.
func isOfNoRelease(hook, owner string) bool { return hook == "" && owner != "helm" }

// Key names an object of the kind.
func (h Head) Key(kind schema.GroupKind) objects.Key {
	return objects.Key{GroupKind: kind, Namespace: h.namespace, Name: h.name}
}

// WholeObject is an object with its metadata decoded by type, which converting it from the content would cost more than
// all the rest.
type WholeObject struct {
	*metav1.PartialObjectMetadata
	// Content is the object with everything that is in it.
	Content *unstructured.Unstructured
}

// read decodes an object that was read within its limits, if it is wanted: as metadata, or as a WholeObject. Of any other
// one it tells who wants to know of those, and returns no object but its version.
func (r Reader) read(raw []byte, gone bool) (object runtime.Object, version string, err error) {
	if len(raw) > largeRead {
		// Of a large object that is not wanted, no more than the head is to be in memory twice.
		head, err := headOf(raw)
		if err != nil || !r.wants(head) {
			return nil, head.version, r.skip(head, gone, err)
		}
	}
	partial, err := r.metadata(raw)
	if err != nil {
		return nil, "", err
	}
	if head := headOfMetadata(partial); !r.wants(head) {
		return nil, head.version, r.skip(head, gone, nil)
	}
	if !r.Whole {
		return partial, partial.ResourceVersion, nil
	}
	content, err := r.content(raw)
	return &WholeObject{partial, content}, partial.ResourceVersion, err
}

func (r Reader) wants(head Head) bool {
	return r.Wanted == nil || r.Wanted(head.namespace, head.name)
}

// skip tells of an object that is not wanted, unless its head could not be read.
func (r Reader) skip(head Head, gone bool, err error) error {
	if err == nil && r.Unwanted != nil {
		r.Unwanted(head, gone)
	}
	return err
}

// decode decodes an object that was read within its limits, wanted or not.
func (r Reader) decode(raw []byte) (runtime.Object, error) {
	if r.Whole {
		return r.content(raw)
	}
	return r.metadata(raw)
}

func (r Reader) metadata(raw []byte) (*metav1.PartialObjectMetadata, error) {
	r.Decoding.Lock()
	defer r.Decoding.Unlock()
	object := &metav1.PartialObjectMetadata{}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, object); err != nil {
		return nil, err
	}
	object.SetGroupVersionKind(r.kind())
	return object, CheckIdentifiers(object.UID, object.ResourceVersion)
}

func (r Reader) content(raw []byte) (*unstructured.Unstructured, error) {
	r.Decoding.Lock()
	defer r.Decoding.Unlock()
	object := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal(raw, &object.Object); err != nil {
		return nil, err
	}
	if object.Object == nil {
		return nil, errors.New("an object is null")
	}
	object.SetGroupVersionKind(r.kind())
	return object, nil
}

func (r Reader) kind() schema.GroupVersionKind {
	return r.Resource.GroupVersion().WithKind(r.Resource.Kind)
}
