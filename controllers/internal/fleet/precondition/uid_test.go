package precondition

import (
	"encoding/json"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestTheUIDOfAnObjectIsSet(t *testing.T) {
	for _, body := range []string{
		`{"apiVersion":"v1","data":{"metadata":"{}"},"kind":"ConfigMap","metadata":{"name":"one"}}`,
		`{ "metadata" : { "name" : "one" }, "data": {"a": [1, {"metadata": {"b": "c"}}]}}`,
		`{"metadata":{"name":"one","uid":"another"}}`,
		`{"metadata":{"name":"one"},"data":{"uid":"another"}}`,
	} {
		got, err := SetUID([]byte(body), `the-"one`)
		var before, after map[string]json.RawMessage
		object := metav1.PartialObjectMetadata{}
		if err != nil || json.Unmarshal([]byte(body), &before) != nil || json.Unmarshal(got, &after) != nil || json.Unmarshal(got, &object) != nil {
			t.Errorf("%s becomes %s: %v", body, got, err)
			continue
		}
		if object.UID != `the-"one` || object.Name != "one" || len(after) != len(before) || strings.Count(string(after["metadata"]), `"uid"`) != 1 {
			t.Errorf("%s becomes %s", body, got)
		}
		for name, value := range before {
			if name != "metadata" && string(after[name]) != string(value) {
				t.Errorf("%s of %s becomes %s", name, body, after[name])
			}
		}
	}
	for _, body := range []string{``, `[]`, `{}`, `{"metadata":[]}`, `{"metadata":{}}`, `{"metadata"`} {
		if got, err := SetUID([]byte(body), "one"); err == nil {
			t.Errorf("%s becomes %s", body, got)
		}
	}
}
