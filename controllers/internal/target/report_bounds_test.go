package target

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/tracker"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
)

// A status that the API server refused would be lost, and with it what is in the cluster.
func TestWhateverAClusterSaysFitsTheSchemaOfTheStatus(t *testing.T) {
	schema := statusSchema(t, "../../../config/crd/bases/addons.daytwo.dev_addonreleases.yaml")
	ref := objects.Ref{Namespace: strings.Repeat("n", 63), Name: strings.Repeat("n", 253)}
	ref.Group, ref.Version, ref.Kind = strings.Repeat("g", 253), strings.Repeat("v", 63), strings.Repeat("K", 63)
	for name, hostile := range map[string]string{
		"long": strings.Repeat("x", 1<<20), "wide": strings.Repeat("ü", 1<<19), "wider": strings.Repeat("𐍈", 1<<18), "lines": strings.Repeat("\n", 1<<16),
	} {
		o := Observation{Preconditions: NewPreconditions(&note{}, noon), Drift: &metav1alpha1.DriftPolicy{}}
		o.Inventory = apply.Inventory{ref.Key(): {Ref: ref, UID: types.UID(strings.Repeat("u", 64))}}
		fields := make([]string, 11)
		for i := range fields {
			fields[i] = hostile
		}
		for _, trouble := range []*Verdict{nil, {Reason: metav1alpha1.ReasonFailed, Message: hostile}, {Reason: metav1alpha1.ReasonRefused, Message: hostile, Stalled: true}} {
			next := Status{TargetStatus: &metav1alpha1.TargetStatus{}, ObjectsStatus: &metav1alpha1.ObjectsStatus{}}
			managers := make([]string, 50)
			for i := range managers {
				managers[i] = strings.Repeat("m", i) + hostile
			}
			Report(next, Findings{
				Observation: o, Trouble: trouble, LeftChanged: hostile, Summary: hostile,
				Shown: Shown{Health: map[objects.Key]tracker.Health{ref.Key(): {Status: status.FailedStatus, Message: hostile}}, tolerated: countManagers([][]string{managers})},
				Corrections: []apply.Written{{
					Write: apply.Write{
						Object: apply.Object{Ref: ref}, Purpose: apply.PurposeCorrect, Seen: &tracker.Seen{At: noon},
						Actor: apply.Actor{Manager: hostile, Operation: hostile, Fields: fields},
					},
					Result: &metav1.PartialObjectMetadata{}, At: noon,
				}},
			})
			for _, problem := range exceeding("status", schema, asObject(t, next.TargetStatus, next.ObjectsStatus)) {
				t.Errorf("%s: %s", name, problem)
			}
		}
	}
}

// statusSchema is that of the status of a definition's only version.
func statusSchema(t *testing.T, file string) apiextensionsv1.JSONSchemaProps {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	definition := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(text, definition); err != nil {
		t.Fatal(err)
	}
	return definition.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["status"]
}

// exceeding are the places in a value that exceed the bounds of its schema.
func exceeding(path string, schema apiextensionsv1.JSONSchemaProps, value any) (found []string) {
	switch value := value.(type) {
	case string:
		if most := schema.MaxLength; most != nil && int64(utf8.RuneCountInString(value)) > *most {
			found = append(found, fmt.Sprintf("%s has %d characters, want %d at most", path, utf8.RuneCountInString(value), *most))
		}
	case []any:
		if most := schema.MaxItems; most != nil && int64(len(value)) > *most {
			found = append(found, fmt.Sprintf("%s has %d items, want %d at most", path, len(value), *most))
		}
		for _, one := range value {
			found = append(found, exceeding(path+"[]", *schema.Items.Schema, one)...)
		}
	case map[string]any:
		for name, one := range value {
			property, known := schema.Properties[name]
			if !known {
				found = append(found, path+"."+name+" is unknown")
			}
			found = append(found, exceeding(path+"."+name, property, one)...)
		}
	}
	return found
}

// asObject is the parts of a status as they are stored.
func asObject(t *testing.T, parts ...any) map[string]any {
	t.Helper()
	object := map[string]any{}
	for _, part := range parts {
		text, err := json.Marshal(part)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &object); err != nil {
			t.Fatal(err)
		}
	}
	return object
}
