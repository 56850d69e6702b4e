package helmclient

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// recordType is that of Secrets that hold a release's revision.
const recordType = "helm.sh/release.v1"

// Record is what a revision's Secret holds.
type Record struct {
	// Release is the revision, with its chart's templates and files as text.
	Release map[string]any
	// ApplyMethod is how the objects were written: "ssa" or "csa".
	ApplyMethod string
	// Times are when what happened, as in "info.last_deployed" or "hooks.acme-migrate.started_at".
	Times map[string]string
}

func isRecord(object *unstructured.Unstructured) bool {
	return object.GetKind() == "Secret" && object.Object["type"] == recordType
}

// withoutData drops from a record's Secret what Record tells better, and when it was written.
func withoutData(content map[string]any) {
	delete(content, "data")
	for _, label := range []string{"createdAt", "modifiedAt"} {
		unstructured.RemoveNestedField(content, "metadata", "labels", label)
	}
}

// decode reads a Secret's data: base64, as all data of Secrets is, of base64, of gzip, of JSON. Its
// errors say nothing of the content.
func decode(secret *unstructured.Unstructured) (*Record, error) {
	encoded, found, err := unstructured.NestedString(secret.Object, "data", "release")
	if err != nil || !found {
		return nil, errors.New("it has no data.release")
	}
	inner, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return nil, errors.New("data.release is not base64")
	}
	compressed, err := base64.StdEncoding.DecodeString(string(inner))
	if err != nil {
		return nil, errors.New("data.release is not base64 of base64")
	}
	reader, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return nil, fmt.Errorf("data.release is not compressed: %w", err)
	}
	content, err := io.ReadAll(reader)
	if err != nil {
		return nil, fmt.Errorf("decompress data.release: %w", err)
	}
	release := map[string]any{}
	if err := json.Unmarshal(content, &release); err != nil {
		return nil, errors.New("data.release holds no JSON object")
	}
	return newRecord(release), nil
}

// newRecord takes apart what two runs have in common and what they don't.
func newRecord(release map[string]any) *Record {
	record := &Record{Release: release, Times: map[string]string{}}
	record.ApplyMethod, _ = release["apply_method"].(string)
	delete(release, "apply_method")
	if info, ok := release["info"].(map[string]any); ok {
		record.moveTimes("info", info, "first_deployed", "last_deployed", "deleted")
	}
	for _, hook := range maplist(release["hooks"]) {
		name, _ := hook["name"].(string)
		if lastRun, ok := hook["last_run"].(map[string]any); ok {
			record.moveTimes("hooks."+name, lastRun, "started_at", "completed_at")
		}
	}
	if chart, ok := release["chart"].(map[string]any); ok {
		asText(chart, "templates")
		asText(chart, "files")
	}
	return record
}

func (r *Record) moveTimes(prefix string, from map[string]any, fields ...string) {
	for _, field := range fields {
		if value, ok := from[field].(string); ok {
			r.Times[prefix+"."+field] = value
		}
		delete(from, field)
	}
}

// asText replaces a list of encoded files by a map of what is in them, whose differences can be read.
func asText(chart map[string]any, field string) {
	files, listed := chart[field].([]any)
	if !listed {
		return
	}
	texts := map[string]any{}
	for _, file := range maplist(files) {
		name, _ := file["name"].(string)
		data, _ := file["data"].(string)
		text, err := base64.StdEncoding.DecodeString(data)
		if err != nil {
			text = []byte(data)
		}
		texts[name] = string(text)
	}
	chart[field] = texts
}
