package helmclient

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// recordOf is a Secret that holds a text as releases are held.
func recordOf(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	buffer := &bytes.Buffer{}
	writer := gzip.NewWriter(buffer)
	if _, err := writer.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	inner := base64.StdEncoding.EncodeToString(buffer.Bytes())
	return recordWith(base64.StdEncoding.EncodeToString([]byte(inner)))
}

func recordWith(data string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": "helm.sh/release.v1",
		"metadata": map[string]any{
			"name": "sh.helm.release.v1.acme.v1", "namespace": "shop",
			"labels": map[string]any{"owner": "helm", "createdAt": "1", "modifiedAt": "2"},
		},
		"data": map[string]any{"release": data},
	}}
}

func TestRecordIsDecodedWithItsTimesApart(t *testing.T) {
	id, object, err := normalised(recordOf(t, `{
		"name": "acme", "apply_method": "ssa",
		"info": {"first_deployed": "monday", "last_deployed": "tuesday", "status": "deployed"},
		"chart": {"templates": [{"name": "templates/a.yaml", "data": "a2luZDogUG9k"}], "files": null},
		"hooks": [{"name": "migrate", "last_run": {"started_at": "noon", "completed_at": "evening", "phase": "Succeeded"}}]
	}`))
	if err != nil {
		t.Fatal(err)
	}
	if id != "v1/Secret/shop/sh.helm.release.v1.acme.v1" {
		t.Errorf("the id is %s", id)
	}
	want := Object{
		Content: map[string]any{
			"apiVersion": "v1", "kind": "Secret", "type": "helm.sh/release.v1",
			"metadata": map[string]any{
				"name": "sh.helm.release.v1.acme.v1", "namespace": "shop", "labels": map[string]any{"owner": "helm"},
			},
		},
		Record: &Record{
			ApplyMethod: "ssa",
			Times: map[string]string{
				"info.first_deployed": "monday", "info.last_deployed": "tuesday",
				"hooks.migrate.started_at": "noon", "hooks.migrate.completed_at": "evening",
			},
			Release: map[string]any{
				"name":  "acme",
				"info":  map[string]any{"status": "deployed"},
				"chart": map[string]any{"templates": map[string]any{"templates/a.yaml": "kind: Pod"}, "files": nil},
				"hooks": []any{map[string]any{"name": "migrate", "last_run": map[string]any{"phase": "Succeeded"}}},
			},
		},
	}
	if !reflect.DeepEqual(object, want) {
		t.Errorf("got\n%+v %+v\nwant\n%+v %+v", object.Content, object.Record, want.Content, want.Record)
	}
}

func TestBrokenRecordIsNamedAndNotShown(t *testing.T) {
	encode := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	tests := map[string]*unstructured.Unstructured{
		"no base64":           recordWith("hunter2!"),
		"no base64 inside":    recordWith(encode("hunter2!")),
		"nothing compressed":  recordWith(encode(encode("hunter2"))),
		"no JSON":             recordOf(t, "hunter2"),
		"JSON, but no object": recordOf(t, `"hunter2"`),
	}
	for name, secret := range tests {
		t.Run(name, func(t *testing.T) {
			_, _, err := normalised(secret)
			if err == nil || !strings.Contains(err.Error(), "shop/sh.helm.release.v1.acme.v1") || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("normalised() = %v, want an error that names the Secret and shows nothing of it", err)
			}
		})
	}
}

func TestDiffTellsObjectByObject(t *testing.T) {
	object := func(value string) Object { return Object{Content: map[string]any{"data": value}} }
	record := func(method, time string) Object {
		return Object{Record: &Record{ApplyMethod: method, Times: map[string]string{"info.deleted": time}}}
	}
	before := View{"same": object("a"), "changed": object("a"), "gone": object("a"), "record": record("ssa", "monday")}
	after := View{"same": object("a"), "changed": object("b"), "new": object("a"), "record": record("ssa", "tuesday")}
	difference := before.Diff(after)
	for _, line := range []string{"- gone\n", "+ new\n", "changed\n", "-  \"data\": \"a\"", "+  \"data\": \"b\""} {
		if !strings.Contains(difference, line) {
			t.Errorf("there is no %q in\n%s", line, difference)
		}
	}
	if strings.Contains(difference, "same") || strings.Contains(difference, "record") {
		t.Errorf("what is the same is in\n%s", difference)
	}
	after["record"] = record("csa", "monday")
	if difference := before.Diff(after); !strings.Contains(difference, "csa") {
		t.Errorf("another method is not in\n%s", difference)
	}
	if before["record"].Record.Times == nil {
		t.Error("what is compared loses its times")
	}
}
