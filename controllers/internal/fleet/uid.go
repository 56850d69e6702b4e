package fleet

import (
	"encoding/json"
	"errors"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// IsAnother tells from the error of an Apply with a UID that the object may not be there any more, or be another one
// of that name. The API server says 409 for the first, which other things are too, and 422 for the second. It is so
// in another cluster as well: ask Confirm which it is.
func IsAnother(err error) bool {
	if apierrors.IsConflict(err) {
		return true
	}
	var status apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	return slices.ContainsFunc(status.Status().Details.Causes, func(cause metav1.StatusCause) bool { return cause.Field == "metadata.uid" })
}

// withUID sets metadata.uid of an object that is given as JSON; an empty UID leaves it as it is.
func withUID(body []byte, uid types.UID) ([]byte, error) {
	if uid == "" {
		return body, nil
	}
	var object, metadata map[string]json.RawMessage
	if err := json.Unmarshal(body, &object); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(object["metadata"], &metadata); err != nil {
		return nil, err
	}
	var err error
	if metadata["uid"], err = json.Marshal(uid); err != nil {
		return nil, err
	}
	if object["metadata"], err = json.Marshal(metadata); err != nil {
		return nil, err
	}
	return json.Marshal(object)
}

// testingUID puts a test of metadata.uid before the operations of a JSON patch.
func testingUID(patch []byte, uid types.UID) ([]byte, error) {
	var operations []json.RawMessage
	if err := json.Unmarshal(patch, &operations); err != nil {
		return nil, err
	}
	test, err := json.Marshal(map[string]any{"op": "test", "path": "/metadata/uid", "value": uid})
	if err != nil {
		return nil, err
	}
	return json.Marshal(slices.Insert(operations, 0, json.RawMessage(test)))
}
