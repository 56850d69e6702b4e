package precondition

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// SetUID sets metadata.uid of an object that is given as JSON; an empty UID leaves it as it is.
func SetUID(body []byte, uid types.UID) ([]byte, error) {
	if uid == "" {
		return body, nil
	}
	if !bytes.Contains(body, []byte(`"uid"`)) {
		return insertUID(body, uid)
	}
	return setMetadata(body, "uid", uid)
}

// setMetadata sets a field of an object's metadata, whether there is one or not.
func setMetadata(body []byte, field string, value any) ([]byte, error) {
	var object, metadata map[string]json.RawMessage
	if err := json.Unmarshal(body, &object); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(object["metadata"], &metadata); err != nil {
		return nil, err
	}
	var err error
	if metadata[field], err = json.Marshal(value); err != nil {
		return nil, err
	}
	if object["metadata"], err = json.Marshal(metadata); err != nil {
		return nil, err
	}
	return json.Marshal(object)
}

// insertUID writes metadata.uid into an object that has metadata and no uid. The rest is copied as it is: that is done in
// the course of every correction, and most of an object is data.
func insertUID(body []byte, uid types.UID) ([]byte, error) {
	member, err := json.Marshal(map[string]types.UID{"uid": uid})
	if err != nil {
		return nil, err
	}
	at, err := metadataOf(body)
	if err != nil {
		return nil, err
	}
	member[len(member)-1] = ',' // In the place of the brace.
	return slices.Concat(body[:at], member[1:], body[at:]), nil
}

// metadataOf returns where the first member of an object's metadata begins.
func metadataOf(body []byte) (int64, error) {
	decoder := json.NewDecoder(bytes.NewReader(body))
	if err := expectDelimiter(decoder, json.Delim('{')); err != nil {
		return 0, err
	}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return 0, err
		}
		if name != "metadata" {
			if err := decoder.Decode(&json.RawMessage{}); err != nil {
				return 0, err
			}
			continue
		}
		if err := expectDelimiter(decoder, json.Delim('{')); err != nil {
			return 0, err
		}
		at := decoder.InputOffset()
		if decoder.More() {
			return at, nil
		}
		break
	}
	return 0, errors.New("it has no metadata")
}

func expectDelimiter(decoder *json.Decoder, want json.Delim) error {
	got, err := decoder.Token()
	if err == nil && got != want {
		err = fmt.Errorf("there is a %T instead of %v", got, want)
	}
	return err
}

// RequireUID puts a test of metadata.uid before the operations of a JSON patch.
func RequireUID(patch []byte, uid types.UID) ([]byte, error) {
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
