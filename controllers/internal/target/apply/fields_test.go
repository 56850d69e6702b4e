package apply

import (
	"testing"
)

func TestWithoutLeavesFieldsOut(t *testing.T) {
	body := `{"metadata":{"annotations":{"a/b":"1","c":"2"}},"spec":{"containers":[{"image":"x","name":"web"}],"replicas":2}}`
	rows := map[string]string{
		"/spec/replicas":             `{"metadata":{"annotations":{"a/b":"1","c":"2"}},"spec":{"containers":[{"image":"x","name":"web"}]}}`,
		"/metadata/annotations/a~1b": `{"metadata":{"annotations":{"c":"2"}},"spec":{"containers":[{"image":"x","name":"web"}],"replicas":2}}`,
		"/spec/containers/0/image":   `{"metadata":{"annotations":{"a/b":"1","c":"2"}},"spec":{"containers":[{"name":"web"}],"replicas":2}}`,
		"/spec/nothing/here":         body,
		"/spec/containers/7/image":   body,
	}
	for pointer, want := range rows {
		if got, err := withoutFields([]byte(body), []string{pointer}); err != nil || string(got) != want {
			t.Errorf("without %s: %s, %v", pointer, got, err)
		}
	}
}
