package fleet

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
	"github.com/daytwo-dev/daytwo/controllers/internal/untrusted"
)

// objectHead is what there is to know of an object that is not wanted.
type objectHead struct {
	namespace, name string
	version         string
	// ofItsOwn is false for an object that a controller made for another one, and for Helm's hooks and records.
	ofItsOwn bool
}

// headOf decodes the head of an object, and nothing else of it.
func headOf(raw []byte) (objectHead, error) {
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
		return objectHead{}, err
	}
	head := object.Metadata
	controlled := false
	for _, owner := range head.OwnerReferences {
		controlled = controlled || owner.Controller
	}
	return objectHead{
		namespace: head.Namespace, name: head.Name, version: head.ResourceVersion,
		ofItsOwn: !controlled && isOfNoRelease(head.Annotations.Hook, head.Labels.Owner),
	}, checkIdentifiers(head.UID, head.ResourceVersion)
}

// headOfMetadata is the head of an object whose metadata is decoded.
func headOfMetadata(object *metav1.PartialObjectMetadata) objectHead {
	return objectHead{
		namespace: object.Namespace, name: object.Name, version: object.ResourceVersion,
		ofItsOwn: metav1.GetControllerOfNoCopy(object) == nil && isOfNoRelease(object.Annotations["helm.sh/hook"], object.Labels["owner"]),
	}
}

// isOfNoRelease is false for Helm's hooks and records.
func isOfNoRelease(hook, owner string) bool { return hook == "" && owner != "helm" }

func (h objectHead) key(kind schema.GroupKind) objects.Key {
	return objects.Key{GroupKind: kind, Namespace: h.namespace, Name: h.name}
}

// wholeObject is an object with its metadata decoded by type, which converting it from the content would cost more than
// all the rest.
type wholeObject struct {
	*metav1.PartialObjectMetadata
	content *unstructured.Unstructured
	// size in the answer that it was read from, if the reader tells sizes.
	size sizeLimit
}

// read decodes an object that was read within its limits, if it is wanted: as metadata, or as a wholeObject. Of any other
// one it tells who wants to know of those, and returns no object but its version.
func (r objectReader) read(raw []byte, gone bool) (object runtime.Object, version string, err error) {
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
	if !r.whole {
		return partial, partial.ResourceVersion, nil
	}
	var size sizeLimit
	if r.sized {
		size = measure(raw)
	}
	content, err := r.content(raw)
	return &wholeObject{partial, content, size}, partial.ResourceVersion, err
}

func measure(raw []byte) sizeLimit {
	var size untrusted.JSONSize
	size.Scan(raw)
	return sizeLimit{len(raw), size.Values}
}

func (r objectReader) wants(head objectHead) bool {
	return r.wanted == nil || r.wanted(head.namespace, head.name)
}

// skip tells of an object that is not wanted, unless its head could not be read.
func (r objectReader) skip(head objectHead, gone bool, err error) error {
	if err == nil && r.unwanted != nil {
		r.unwanted(head, gone)
	}
	return err
}

// decode decodes an object that was read within its limits, wanted or not.
func (r objectReader) decode(raw []byte) (runtime.Object, error) {
	if r.whole {
		return r.content(raw)
	}
	return r.metadata(raw)
}

func (r objectReader) metadata(raw []byte) (*metav1.PartialObjectMetadata, error) {
	r.decoding.Lock()
	defer r.decoding.Unlock()
	object := &metav1.PartialObjectMetadata{}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, object); err != nil {
		return nil, err
	}
	object.SetGroupVersionKind(r.kind())
	return object, checkIdentifiers(object.UID, object.ResourceVersion)
}

func (r objectReader) content(raw []byte) (*unstructured.Unstructured, error) {
	r.decoding.Lock()
	defer r.decoding.Unlock()
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

func (r objectReader) kind() schema.GroupVersionKind {
	return r.resource.GroupVersion().WithKind(r.resource.Kind)
}
