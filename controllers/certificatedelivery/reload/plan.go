package reload

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/daytwo-dev/daytwo/controllers/internal/managedfields"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

// Object is a delivered Secret or ConfigMap whose users are to have loaded it.
type Object struct {
	Kind, Namespace, Name string
	// Hash of its content.
	Hash string
}

// id tells the annotation of one object from those of others: 16 hex digits.
func (o Object) id() string {
	digest := sha256.Sum256([]byte(o.Kind + " " + o.Namespace + "/" + o.Name))
	return hex.EncodeToString(digest[:8])
}

// step is what is to be done about a workload that uses delivered objects.
type step struct {
	objects.Ref
	uid types.UID
	// restartFor are the objects that it has not loaded.
	restartFor []Object
	// waits says what its rollout waits for; empty for nothing.
	waits string
}

// planFor is what is to be done about a workload: nil where it uses none of the objects, which are those of its namespace, or
// has loaded them. It is pure.
func planFor(w workload, objects []Object) *step {
	if w.deleted {
		return nil
	}
	next, used := &step{Ref: w.Ref, uid: w.uid}, false
	for _, object := range objects {
		if !uses(w.spec.Template.Spec, object.Kind, object.Name) {
			continue
		}
		used = true
		if w.annotation(managedfields.ReloadAnnotation(object.id())) != object.Hash {
			next.restartFor = append(next.restartFor, object)
		}
	}
	if !used {
		return nil
	}
	if len(next.restartFor) == 0 {
		next.waits = w.unfinished()
	}
	if len(next.restartFor) == 0 && next.waits == "" {
		return nil
	}
	return next
}

// annotating is what is applied to a workload so that its pods are replaced, and load an object.
func annotating(ref objects.Ref, object Object) ([]byte, error) {
	body, err := json.Marshal(map[string]any{
		"apiVersion": ref.GroupVersion().String(), "kind": ref.Kind,
		"metadata": map[string]any{"namespace": ref.Namespace, "name": ref.Name},
		"spec": map[string]any{"template": map[string]any{"metadata": map[string]any{
			"annotations": map[string]any{managedfields.ReloadAnnotation(object.id()): object.Hash},
		}}},
	})
	if err != nil {
		return nil, fmt.Errorf("annotate %s: %w", ref, err)
	}
	return body, nil
}
