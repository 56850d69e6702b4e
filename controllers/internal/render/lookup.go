package render

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/daytwo-dev/daytwo/controllers/internal/render/manifest"
	"github.com/daytwo-dev/daytwo/controllers/internal/render/sandbox"
)

// maxLookups is how many lookups one rendering may make: each is a request to the cluster, on
// behalf of a chart that may not be trusted. Charts of good will make a handful.
const maxLookups = 1000

// maxFound is how many times the limit of one lookup all lookups of a rendering may find together: a rendering may hold
// what it found, and a chart can list whole kinds again and again.
const maxFound = 4

// LookupFunc answers the template function lookup: one object or, if name is "", the list of all,
// in the namespace or, if that is "", in all namespaces. That an object or its kind is not found is
// told by an error of the API server that says so, or an empty result. It is called from the
// goroutine that renders, must return when ctx is done, and its time counts towards the limit.
type LookupFunc func(ctx context.Context, apiVersion, kind, namespace, name string) (map[string]any, error)

type lookupQuery struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace"`
	Name       string `json:"name"`
}

func (q lookupQuery) String() string {
	switch {
	case q.Name == "":
		return fmt.Sprintf("%s %s", q.APIVersion, q.Kind)
	case q.Namespace == "":
		return fmt.Sprintf("%s %s %s", q.APIVersion, q.Kind, q.Name)
	}
	return fmt.Sprintf("%s %s %s/%s", q.APIVersion, q.Kind, q.Namespace, q.Name)
}

type lookupAnswer struct {
	Object map[string]any `json:"object"`
	// Failed ends the rendering. The manager knows why and does not tell the worker.
	Failed bool `json:"failed,omitempty"`
}

// lookups is the manager's end: it asks on behalf of one rendering.
type lookups struct {
	find LookupFunc
	// limit of an answer, in bytes.
	limit int
	count int
	// found so far, in bytes.
	found int
	// failed is the first error; the rendering's own failure follows from it.
	failed error
}

// begin forgets what an earlier try found.
func (l *lookups) begin() {
	if l != nil {
		l.count, l.found, l.failed = 0, 0, nil
	}
}

// answer returns the payload of a frameFound.
func (l *lookups) answer(ctx context.Context, payload []byte) ([]byte, error) {
	if l == nil {
		return nil, errors.New("the worker asks for a lookup that was not offered")
	}
	var query lookupQuery
	if err := json.Unmarshal(payload, &query); err != nil {
		return nil, fmt.Errorf("read its lookup: %w", err)
	}
	encoded, err := l.ask(ctx, query)
	if err == nil {
		return encoded, nil
	}
	if l.failed == nil {
		l.failed = err
	}
	return encode(lookupAnswer{Failed: true})
}

func (l *lookups) ask(ctx context.Context, query lookupQuery) ([]byte, error) {
	if l.count++; l.count > maxLookups {
		return nil, manifest.TemplateFailedf("the chart makes more than %d lookups: use another chart, or ask its author for a list instead of one lookup an object", maxLookups)
	}
	object, err := l.find(ctx, query.APIVersion, query.Kind, query.Namespace, query.Name)
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("lookup of %s for the chart: %w", query, err)
	}
	if object == nil || err != nil {
		object = map[string]any{}
	}
	encoded, err := encode(lookupAnswer{Object: object})
	if err != nil {
		return nil, fmt.Errorf("lookup of %s for the chart: write the answer as JSON: %w", query, err)
	}
	if len(encoded) > l.limit {
		return nil, &manifest.Error{Reason: manifest.OutputLimitExceeded, Message: fmt.Sprintf(
			"the chart's lookup of %s finds more than %s: use a chart that looks up single objects", query, size(int64(l.limit)))}
	}
	if l.found += len(encoded); l.found > maxFound*l.limit {
		return nil, &manifest.Error{Reason: manifest.OutputLimitExceeded, Message: fmt.Sprintf(
			"the chart's lookups find more than %s together, the last of them %s: use a chart that looks up single objects", size(int64(maxFound*l.limit)), query)}
	}
	return encoded, nil
}

// lookup is the worker's end: the template function that asks the manager.
func (w *worker) lookup(apiVersion, kind, namespace, name string) (map[string]any, error) {
	query, err := encode(lookupQuery{apiVersion, kind, namespace, name})
	if err != nil {
		return nil, err
	}
	if err := sandbox.Write(w.out, sandbox.FrameLookup, query); err != nil {
		return nil, err
	}
	found := <-w.frames
	var answer lookupAnswer
	if err := utiljson.Unmarshal(found.Payload, &answer); err != nil {
		return nil, err
	}
	if answer.Failed {
		return nil, errors.New("the lookup failed")
	}
	return answer.Object, nil
}

// findNothing stands in for lookup where there is no cluster to ask, as in `helm template`.
func findNothing(string, string, string, string) (map[string]any, error) {
	return map[string]any{}, nil
}
