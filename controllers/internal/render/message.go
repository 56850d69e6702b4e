package render

import (
	"bytes"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/daytwo-dev/daytwo/controllers/internal/render/manifest"
)

// task is what a worker is asked to do.
type task struct {
	Sources []Source `json:"sources,omitempty"`
	// Values are layers whose templates are executed beside Sources.
	Values  []ValuesLayer `json:"values,omitempty"`
	Cluster Cluster       `json:"cluster"`
	// ParseOnly: no template is executed.
	ParseOnly bool `json:"parseOnly,omitempty"`
	// OutputLimit in bytes.
	OutputLimit int `json:"outputLimit"`
	// Chart, if set, is rendered instead of Sources; its archive follows in a frame of its own.
	Chart *chartTask `json:"chart,omitempty"`
}

// reply is what a worker answers: one of its fields.
type reply struct {
	Objects []map[string]any `json:"objects,omitempty"`
	Chart   *chartReply      `json:"chart,omitempty"`
	Info    *ChartInfo       `json:"info,omitempty"`
	Failure *manifest.Error  `json:"failure,omitempty"`
}

// decodeReply returns what the worker said went wrong as the error.
func decodeReply(answer []byte) (reply, error) {
	var result reply
	if err := utiljson.Unmarshal(answer, &result); err != nil {
		return reply{}, fmt.Errorf("%w: read its reply: %w", ErrWorkerLost, err)
	}
	if result.Failure != nil {
		return reply{}, result.Failure
	}
	return result, nil
}

func asUnstructured(contents []map[string]any) []*unstructured.Unstructured {
	objects := make([]*unstructured.Unstructured, 0, len(contents))
	for _, content := range contents {
		objects = append(objects, &unstructured.Unstructured{Object: content})
	}
	return objects
}

// encode writes JSON without the escapes for HTML, which make six bytes of one.
func encode(value any) ([]byte, error) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return buffer.Bytes(), err
}
