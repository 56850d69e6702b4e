package precondition

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func TestOnlyNewAddsAConditionAndChangesNothingElse(t *testing.T) {
	body := `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","labels":{"b":"c"}},"data":{"number":"1.0","text":"<é>"},"n":12345678901234567890}`
	changed, err := OnlyNew([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	var before, after map[string]json.RawMessage
	if err := json.Unmarshal([]byte(body), &before); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(changed, &after); err != nil {
		t.Fatal(err)
	}
	var metadata map[string]any
	if err := json.Unmarshal(after["metadata"], &metadata); err != nil {
		t.Fatal(err)
	}
	if want := map[string]any{"name": "a", "labels": map[string]any{"b": "c"}, "resourceVersion": "1"}; !reflect.DeepEqual(metadata, want) {
		t.Errorf("the metadata is %v", metadata)
	}
	delete(before, "metadata")
	delete(after, "metadata")
	if !reflect.DeepEqual(decoded(t, before), decoded(t, after)) {
		t.Errorf("%s became %s", body, changed)
	}
	for _, broken := range []string{"", "{", `{"kind":"ConfigMap"}`, `{"metadata":"none"}`} {
		if _, err := OnlyNew([]byte(broken)); err == nil {
			t.Errorf("%q is an object", broken)
		}
	}
}

func decoded(t *testing.T, fields map[string]json.RawMessage) map[string]any {
	t.Helper()
	plain := map[string]any{}
	for name, raw := range fields {
		var value any
		decoder := json.NewDecoder(strings.NewReader(string(raw)))
		decoder.UseNumber()
		if err := decoder.Decode(&value); err != nil {
			t.Fatal(err)
		}
		plain[name] = value
	}
	return plain
}
