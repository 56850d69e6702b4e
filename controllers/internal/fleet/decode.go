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
)

// objectHead is what there is to know of an object that is not wanted.
type objectHead struct {
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

// headOf decodes the head of an object, and nothing else of it.
func headOf(raw []byte) (objectHead, error) {
	var head objectHead
	err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &head)
	if err == nil {
		err = checkIdentifiers(head.Metadata.UID, head.Metadata.ResourceVersion)
	}
	return head, err
}

func (h objectHead) key(kind schema.GroupKind) objects.Key {
	return objects.Key{GroupKind: kind, Namespace: h.Metadata.Namespace, Name: h.Metadata.Name}
}

// isOfItsOwn is false for an object that a controller made for another one, and for Helm's hooks and records.
func (h objectHead) isOfItsOwn() bool {
	for _, owner := range h.Metadata.OwnerReferences {
		if owner.Controller {
			return false
		}
	}
	return h.Metadata.Annotations.Hook == "" && h.Metadata.Labels.Owner != "helm"
}

// wholeObject is an object with its metadata decoded by type, which converting it from the content would cost more than
// all the rest.
type wholeObject struct {
	*metav1.PartialObjectMetadata
	content *unstructured.Unstructured
}

// read decodes an object that was read within its limits, if it is wanted: as metadata, or as a wholeObject. Of any other
// one it tells who wants to know of those, and returns no object but its version.
func (r objectReader) read(raw []byte, gone bool) (object runtime.Object, version string, err error) {
	if len(raw) > largeRead {
		// Of a large object that is not wanted, no more than the head is to be in memory twice.
		head, err := headOf(raw)
		if err != nil || !r.wants(head.Metadata.Namespace, head.Metadata.Name) {
			return nil, head.Metadata.ResourceVersion, r.skip(head, gone, err)
		}
	}
	partial, err := r.metadata(raw)
	if err != nil {
		return nil, "", err
	}
	if !r.wants(partial.Namespace, partial.Name) {
		head, err := headOf(raw)
		return nil, partial.ResourceVersion, r.skip(head, gone, err)
	}
	if !r.whole {
		return partial, partial.ResourceVersion, nil
	}
	content, err := r.content(raw)
	return &wholeObject{partial, content}, partial.ResourceVersion, err
}

func (r objectReader) wants(namespace, name string) bool {
	return r.wanted == nil || r.wanted(namespace, name)
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
