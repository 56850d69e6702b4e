package addonrelease

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/tracker"
	"github.com/daytwo-dev/daytwo/controllers/internal/managedfields"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/suspension"
	"github.com/daytwo-dev/daytwo/controllers/internal/target"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
)

func TestANewVersionOfTheRulesIsNoDrift(t *testing.T) {
	a := configMapRef("a")
	newRules := func(o *observation) {
		o.RulesVersion, o.Status.Drift.Rules = "new", "old"
		drift(o, a)
		o.States[a.Key()].Seen.Untouched = o.Inventory[a.Key()].Fingerprint
	}
	for name, c := range map[string]struct {
		change func(*observation)
		want   string
	}{
		"an addition that stayed before": {newRules, "rest update a; "},
		"an inventory of an older Daytwo": {func(o *observation) {
			newRules(o)
			o.Status.Drift.Rules = ""
			o.States[a.Key()].Seen.Untouched = "x"
		}, "rest update a; "},
		"an edit of what is declared besides":  {func(o *observation) { newRules(o); o.States[a.Key()].Seen.Untouched = "x" }, "rest correct a; "},
		"an object that was deleted":           {func(o *observation) { newRules(o); o.States[a.Key()].Seen.Gone = true }, "rest correct a; "},
		"the same rules":                       {func(o *observation) { newRules(o); o.Status.Drift.Rules = "new" }, "rest correct a; "},
		"what stays is shown where nothing is": {func(o *observation) { newRules(o); o.Target.Spec.Drift.Mode = metav1alpha1.DriftReport }, "reported correct a; "},
		"a suspension":                         {func(o *observation) { newRules(o); o.Suspension = suspension.Suspension{Active: true} }, "reported correct a; "},
		"settings, and what was seen before": {func(o *observation) {
			o.RulesVersion, o.Status.Drift.Rules = "new", "old"
			o.States[a.Key()].Seen.Tolerated = []string{"mesh"}
		}, "rest update a; "},
		"settings, and what was seen since": {func(o *observation) {
			o.RulesVersion, o.Status.Drift.Rules = "new", "old"
			o.States[a.Key()].Seen.Tolerated, o.States[a.Key()].Seen.Rules = []string{"mesh"}, "new"
		}, ""},
		"a pod that takes all keys now": {func(o *observation) { o.Desired[0].Environment = true }, "rest update a; "},
	} {
		o := scene(c.change)
		p := newPlan(o)
		if got := summarize(p); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
		done := result{}
		for _, w := range p.Rest {
			done.Written = append(done.Written, apply.Written{Write: w, Result: &metav1.PartialObjectMetadata{}, Contested: true, At: noon})
		}
		if counted := newReport(o, p, done, target.Shown{}).status.Drift.Count; (counted > 0) != strings.HasPrefix(c.want, "rest correct") {
			t.Errorf("%s: %d corrections are counted", name, counted)
		}
		if rules := newReport(o, p, done, target.Shown{}).status.Drift.Rules; rules != o.RulesVersion {
			t.Errorf("%s: the status has rules %q", name, rules)
		}
	}
}

func TestReassessesWhatWasSeenBeforeTheSettingsChanged(t *testing.T) {
	o := scene()
	seen := &tracker.Seen{UID: "u", Fingerprint: "g", Rules: "old", Object: &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		UID: "u", ManagedFields: []metav1.ManagedFieldsEntry{{
			Manager: "kubectl-edit", Operation: "Update", FieldsV1: metav1.NewFieldsV1(`{"f:data":{"f:debug":{}}}`),
		}},
	}}}
	untouched := o.Rules.Assess(seen.Object, managedfields.Subject{Tolerance: managedfields.Tolerance{Additions: managedfields.RevertNone}}).Fingerprint
	e := apply.Entry{Ref: configMapRef("a"), Fingerprint: untouched}
	if is := o.Reassess(apply.ObjectState{Seen: seen, Drifted: true}, e, managedfields.Tolerance{Version: "new", Additions: managedfields.RevertNone}); is.Drifted {
		t.Error("what may stay now is still drift")
	}
	if is := o.Reassess(apply.ObjectState{Seen: seen, Drifted: true}, e, managedfields.Tolerance{Version: "strict"}); !is.Drifted || is.Seen.Rules != "strict" {
		t.Error("what may not stay is no drift")
	}
}

// parse reads YAML documents.
func parse(t *testing.T, text string) []*unstructured.Unstructured {
	t.Helper()
	var list []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), len(text))
	for {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(object); errors.Is(err, io.EOF) {
			return list
		} else if err != nil {
			t.Fatal(err)
		}
		list = append(list, object)
	}
}

func TestFindsWhatPodsTakeTheirEnvironmentFrom(t *testing.T) {
	list, err := apply.Prepare(apply.Declare(parse(t, `
apiVersion: batch/v1
kind: CronJob
metadata: {name: a, namespace: cache}
spec: {jobTemplate: {spec: {template: {spec: {containers: [{name: a, envFrom: [{secretRef: {name: access}}, {prefix: X_, configMapRef: {name: settings}}], env: [{name: A, valueFrom: {secretKeyRef: {name: single, key: a}}}]}]}}}}}
---
apiVersion: example.com/v1
kind: Server
metadata: {name: a, namespace: other}
spec: {pods: [{envFrom: [{secretRef: {name: access}}]}], envFrom: nothing}
---
{apiVersion: v1, kind: Secret, metadata: {name: access, namespace: cache}}
---
{apiVersion: v1, kind: Secret, metadata: {name: access, namespace: other}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: cache}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: other}}
---
{apiVersion: v1, kind: Secret, metadata: {name: single, namespace: cache}}
`)), "id", "")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, d := range list {
		if d.Environment {
			found = append(found, d.String())
		}
	}
	if want := []string{"Secret cache/access", "Secret other/access", "ConfigMap cache/settings"}; !slices.Equal(found, want) {
		t.Errorf("got %v, want %v", found, want)
	}
}

func TestSettingsOfDriftDecideWhatIsTolerated(t *testing.T) {
	ref := objects.Ref{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, Name: "a"}
	for setting, want := range map[metav1alpha1.DriftAdditions]managedfields.Additions{
		"": managedfields.RevertPeopleAndSensitive, metav1alpha1.DriftAdditionsPeopleAndSensitive: managedfields.RevertPeopleAndSensitive,
		metav1alpha1.DriftAdditionsAll: managedfields.RevertAll, metav1alpha1.DriftAdditionsNone: managedfields.RevertNone,
	} {
		got := target.SettingsOf(metav1alpha1.DriftPolicy{Additions: setting}).Tolerance("v", ref, true)
		if got.Additions != want || !got.Environment || got.Version != "v" {
			t.Errorf("%q: got %+v", setting, got)
		}
	}
	rules := managedfields.DefaultRules("test")
	if target.RulesVersion(rules, metav1alpha1.DriftPolicy{}) != target.RulesVersion(rules, metav1alpha1.DriftPolicy{Additions: metav1alpha1.DriftAdditionsPeopleAndSensitive}) {
		t.Error("the default has a version of its own")
	}
}
