package coverage

import (
	"slices"
	"testing"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/backuptest"
)

func TestWhatATemplateLeavesOutOfItsNamespaces(t *testing.T) {
	for name, row := range map[string]struct {
		template map[string]any
		want     string
	}{
		"nothing":                     {map[string]any{"includedResources": []any{"*"}, "labelSelector": map[string]any{}}, ""},
		"what has another label":      {map[string]any{"labelSelector": map[string]any{"matchLabels": map[string]any{"app": "shop"}}}, "labelSelector"},
		"what has none of the labels": {map[string]any{"orLabelSelectors": []any{map[string]any{"matchLabels": map[string]any{"app": "shop"}}}}, "orLabelSelectors"},
		"kinds that are not named":    {map[string]any{"includedResources": []any{"configmaps"}}, "includedResources"},
		"kinds that are named":        {map[string]any{"excludedResources": []any{"events", "secrets"}}, "excludedResources"},
		"what is never restored":      {map[string]any{"excludedResources": []any{"events", "nodes"}}, ""},
	} {
		schedule := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"template": row.template}}}
		if f, ok := filterOf(schedule); !ok || f.partial != row.want {
			t.Errorf("%s: it is %t by %q, not by %q", name, ok, f.partial, row.want)
		}
	}
}

func TestANamespaceIsCoveredIfOnePolicyTakesAllOfIt(t *testing.T) {
	namespaces := []*unstructured.Unstructured{backuptest.NamespaceNamed("shop", nil), backuptest.NamespaceNamed("team-a", nil), backuptest.NamespaceNamed("team-b", nil)}
	got := Of([]Filter{
		{included: []string{"shop"}},
		{included: []string{"shop", "team-a"}, partial: "labelSelector"},
		{included: []string{"team-a"}, partial: "excludedResources"},
	}, namespaces, "velero")
	if !slices.Equal(got.Uncovered, []string{"team-b"}) || !slices.Equal(got.Parts, []string{"team-a"}) || !slices.Equal(got.By, []string{"excludedResources", "labelSelector"}) {
		t.Errorf("got %+v", got)
	}
}

func TestWhichNamespacesATemplateTakesIn(t *testing.T) {
	for name, row := range map[string]struct {
		included, excluded []any
		want               []string
	}{
		"all":                       {nil, nil, []string{"shop", "team-a", "team-b"}},
		"all by a star":             {[]any{"*"}, []any{"shop"}, []string{"team-a", "team-b"}},
		"some by name":              {[]any{"shop", "gone"}, nil, []string{"shop"}},
		"some by a pattern":         {[]any{"team-*"}, []any{"team-b"}, []string{"team-a"}},
		"all but a pattern":         {nil, []any{"team-?"}, []string{"shop"}},
		"a pattern that is none":    {[]any{"[", "shop"}, nil, []string{"shop"}},
		"more than a policy names":  {slices.Repeat([]any{"shop"}, maxPatterns+1), nil, nil},
		"what Velero never accepts": {[]any{int64(7)}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			f, ok := filterOf(backuptest.ScheduleOf("nightly-1", row.included, row.excluded))
			var got []string
			for _, namespace := range []string{"shop", "team-a", "team-b"} {
				if ok && f.covers(namespace) {
					got = append(got, namespace)
				}
			}
			if !slices.Equal(got, row.want) {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestWhichNamespacesCount(t *testing.T) {
	going := backuptest.NamespaceNamed("going", nil)
	going.SetDeletionTimestamp(&metav1.Time{Time: backuptest.Noon})
	got := Of(nil, []*unstructured.Unstructured{
		backuptest.NamespaceNamed("velero", nil), backuptest.NamespaceNamed("kube-system", nil), backuptest.NamespaceNamed("kube-public", nil), backuptest.NamespaceNamed("kube-node-lease", nil),
		backuptest.NamespaceNamed("scratch", map[string]string{velerov1.ExcludeFromBackupLabel: "true"}), backuptest.NamespaceNamed("sandbox", map[string]string{metav1alpha1.LabelDrill: "d"}),
		going, backuptest.NamespaceNamed("shop", map[string]string{velerov1.ExcludeFromBackupLabel: "false"}), backuptest.NamespaceNamed("default", nil),
	}, "velero")
	if got.Total != 2 || !slices.Equal(got.Uncovered, []string{"default", "shop"}) {
		t.Errorf("got %+v", got)
	}
}
