package backupenrollment

import (
	"fmt"
	"slices"
	"testing"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/tracker"
)

func namespaceNamed(name string, labels map[string]string) *unstructured.Unstructured {
	namespace := &unstructured.Unstructured{Object: map[string]any{}}
	namespace.SetName(name)
	namespace.SetLabels(labels)
	return namespace
}

// scheduleOf a policy, with what its template includes and excludes.
func scheduleOf(name string, included, excluded []any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": name},
		"spec":     map[string]any{"template": map[string]any{"includedNamespaces": included, "excludedNamespaces": excluded}},
	}}
}

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
	namespaces := []*unstructured.Unstructured{namespaceNamed("shop", nil), namespaceNamed("team-a", nil), namespaceNamed("team-b", nil)}
	got := coveredBy([]filter{
		{included: []string{"shop"}},
		{included: []string{"shop", "team-a"}, partial: "labelSelector"},
		{included: []string{"team-a"}, partial: "excludedResources"},
	}, namespaces, "velero")
	if !slices.Equal(got.uncovered, []string{"team-b"}) || !slices.Equal(got.parts, []string{"team-a"}) || !slices.Equal(got.by, []string{"excludedResources", "labelSelector"}) {
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
			f, ok := filterOf(scheduleOf("nightly-1", row.included, row.excluded))
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
	going := namespaceNamed("going", nil)
	going.SetDeletionTimestamp(&metav1.Time{Time: noon})
	got := coveredBy(nil, []*unstructured.Unstructured{
		namespaceNamed("velero", nil), namespaceNamed("kube-system", nil), namespaceNamed("kube-public", nil), namespaceNamed("kube-node-lease", nil),
		namespaceNamed("scratch", map[string]string{velerov1.ExcludeFromBackupLabel: "true"}), namespaceNamed("sandbox", map[string]string{metav1alpha1.LabelDrill: "d"}),
		going, namespaceNamed("shop", map[string]string{velerov1.ExcludeFromBackupLabel: "false"}), namespaceNamed("default", nil),
	}, "velero")
	if got.total != 2 || !slices.Equal(got.uncovered, []string{"default", "shop"}) {
		t.Errorf("got %+v", got)
	}
}

// covering is an enrollment whose template leaves out the namespace scratch, with a backup of which these are the details.
func covering(known details) *observation {
	velero := shown(nil, backupAt(1, "Completed", 3, nil))
	velero.schedule = scheduleOf("nightly-1", nil, []any{"scratch"})
	velero.schedules = []*unstructured.Unstructured{velero.schedule, scheduleOf("weekly-1", []any{"scratch"}, nil)}
	velero.namespaces = fleet.Observed{KindState: tracker.KindState{Listed: true}, Objects: []*unstructured.Unstructured{namespaceNamed("shop", nil)}}
	o := enrolled(velero, 0)
	o.Extra.reading.known = allDetails{idAt(1): known}
	return o
}

func TestWhatNoBackupCovers(t *testing.T) {
	scratch := func(o *observation) {
		o.Extra.velero.namespaces.Objects = append(o.Extra.velero.namespaces.Objects, namespaceNamed("scratch", nil))
	}
	many := func(o *observation) {
		o.Extra.velero.schedule = scheduleOf("nightly-1", []any{"shop"}, nil)
		for i := range 7 {
			o.Extra.velero.namespaces.Objects = append(o.Extra.velero.namespaces.Objects, namespaceNamed(fmt.Sprintf("team-%d", i), nil))
		}
	}
	for name, row := range map[string]struct {
		details details
		change  func(*observation)
		status  metav1.ConditionStatus
		says    string
	}{
		"nothing is left out":             {withVolumes(2, 2), nil, metav1.ConditionTrue, "1 namespaces, and 2 volumes in backup nightly-01"},
		"a namespace is":                  {withVolumes(2, 2), scratch, metav1.ConditionFalse, "no policy backs up 1 of 2 namespaces: scratch"},
		"many are":                        {withVolumes(2, 2), many, metav1.ConditionFalse, "no policy backs up 7 of 8 namespaces: team-0, team-1, team-2, team-3, team-4 and 2 more"},
		"a volume is":                     {withVolumes(1, 2), nil, metav1.ConditionFalse, "backup nightly-01 has no data of 1 of 2 volumes: shop/data"},
		"both are":                        {withVolumes(1, 3), scratch, metav1.ConditionFalse, "no policy backs up 1 of 2 namespaces: scratch; backup nightly-01 has no data of 2 of 3 volumes: shop/data and 1 more"},
		"the backup is not read":          {details{}, nil, metav1.ConditionUnknown, "the volumes of a backup were not read yet"},
		"the backup cannot be read":       {details{problem: "no answer"}, nil, metav1.ConditionUnknown, "the volumes of backup nightly-01 are not known: no answer"},
		"nobody wrote of volumes":         {details{read: true, bytes: ptr.To[int64](1)}, nil, metav1.ConditionUnknown, "the bucket does not tell which volumes backup nightly-01 has"},
		"a namespace is, whatever is not": {details{}, scratch, metav1.ConditionFalse, "no policy backs up 1 of 2 namespaces: scratch"},
		"another policy backs it up": {withVolumes(2, 2), func(o *observation) {
			scratch(o)
			o.Extra.policies = []string{"weekly-1"}
		}, metav1.ConditionTrue, "2 namespaces, and 2 volumes in backup nightly-01"},
		"the Schedule is gone":       {withVolumes(2, 2), func(o *observation) { o.Extra.velero.schedule = nil }, metav1.ConditionUnknown, "the Schedule is not seen yet"},
		"namespaces are not listed":  {withVolumes(2, 2), func(o *observation) { o.Extra.velero.namespaces = fleet.Observed{} }, metav1.ConditionUnknown, "waits for the first list of namespaces"},
		"namespaces are not allowed": {withVolumes(2, 2), func(o *observation) { o.Extra.velero.namespaces.Unknown = "forbidden" }, metav1.ConditionUnknown, "namespaces cannot be watched: forbidden"},
		"there are too many":         {withVolumes(2, 2), func(o *observation) { o.Extra.velero.namespaces.Incomplete = true }, metav1.ConditionUnknown, "the cluster has more than 500 namespaces, or very large ones"},
	} {
		t.Run(name, func(t *testing.T) {
			o := covering(row.details)
			if row.change != nil {
				row.change(o)
			}
			told := historyOf(o.Extra.velero.backups.Objects, standardOf(o, o.Extra.reading.known))
			if f := coverageFinding(o, told); f.status != row.status || f.message != row.says || f.reason == "" {
				t.Errorf("got %s (%s): %s", f.status, f.reason, f.message)
			}
		})
	}
}

func TestWhatIsLeftOutIsNoReasonNotToBeReady(t *testing.T) {
	o := covering(withVolumes(1, 2))
	o.Extra.velero.location = locationAt("Available", "", 0)
	done := new(Reconciler).Outcome(o)
	done.Tell(&o.Status)
	if done.Unhealthy != nil {
		t.Errorf("it is not healthy: %+v", done.Unhealthy)
	}
	for _, condition := range o.Status.Conditions {
		if condition.Type == backupv1alpha1.ConditionCoverageComplete && condition.Status == metav1.ConditionFalse {
			return
		}
	}
	t.Errorf("conditions %+v", o.Status.Conditions)
}
