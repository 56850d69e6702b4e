package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/action"
	"github.com/daytwo-dev/daytwo/controllers/internal/background"
	"github.com/daytwo-dev/daytwo/controllers/internal/connectivity"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/tracker"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// drill is a run.
type drill struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	spec   metav1alpha1.RunSpec
	status metav1alpha1.RunStatus
}

func (d *drill) GetRunSpec() *metav1alpha1.RunSpec     { return &d.spec }
func (d *drill) GetRunStatus() *metav1alpha1.RunStatus { return &d.status }
func (d *drill) DeepCopyObject() runtime.Object {
	return &drill{d.TypeMeta, copyMeta(d.ObjectMeta), d.spec, *d.status.DeepCopy()}
}

func copyMeta(in metav1.ObjectMeta) metav1.ObjectMeta { return *in.DeepCopy() }

// observed is what is known of a drill.
type observed = observation[*drill, metav1alpha1.RunStatus]

// drills wants what a test wants.
type drills struct {
	move    Move[*drill]
	removes time.Time
}

func (k drills) RemovesAt(*drill) time.Time { return k.removes }

func (drills) Name() string                                { return "Drill" }
func (drills) New() *drill                                 { return &drill{} }
func (drills) NewList() client.ObjectList                  { return nil }
func (drills) Status(of *drill) *metav1alpha1.RunStatus    { return &of.status }
func (drills) CopyStatus(to, from *metav1alpha1.RunStatus) { from.DeepCopyInto(to) }
func (drills) Selections(*drill) []Selection               { return nil }
func (k drills) Next(View[*drill]) Move[*drill]            { return k.move }
func (drills) Keeps(*drill, metav1alpha1.Action) bool      { return false }
func (drills) Clusters(context.Context, *drill) ([]metav1alpha1.ClusterReference, error) {
	return nil, nil
}
func (drills) Object(context.Context, View[*drill], string) (*unstructured.Unstructured, error) {
	return nil, nil
}
func (drills) Decide(*drill, metav1alpha1.Action, *unstructured.Unstructured) action.Verdict {
	return action.Verdict{}
}

var prod = metav1alpha1.ClusterReference{Namespace: "acme", Name: "prod"}

// underWay is a run that works in the cluster prod, which is connected.
func underWay(change ...func(*drill)) observed {
	at := metav1.NewTime(noon)
	of := &drill{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "weekly", UID: "u", Finalizers: []string{metav1alpha1.FinalizerRun}}}
	of.status = metav1alpha1.RunStatus{StartedAt: &at, Clusters: []metav1alpha1.ClusterReference{prod}}
	for _, one := range change {
		one(of)
	}
	return observed{
		View: View[*drill]{Run: of, Now: noon, clusters: map[types.NamespacedName]*clusterView{
			Key(prod): {Connectivity: connectivity.Connectivity{Subject: removalOf(of), ClusterID: "id"}, cluster: &fleet.Cluster{}},
		}},
		owner: action.Owner{Object: of},
	}
}

func begun(name string, outcome metav1alpha1.ActionOutcome) metav1alpha1.Action {
	return metav1alpha1.Action{Name: name, ClusterRef: prod, ClusterID: "id", Object: "v1/ConfigMap/default/" + name, Outcome: outcome, Deadline: metav1.NewTime(noon.Add(time.Hour))}
}

// summarize says in words what a plan does.
func summarize(p plan[*drill]) string {
	switch {
	case p.claim:
		return "claim"
	case p.release:
		return "release"
	case p.start:
		return "start"
	case p.clusters != nil:
		return fmt.Sprintf("know %d clusters", len(p.clusters))
	case p.end != nil:
		return fmt.Sprintf("end %s: %s", p.end.outcome, p.end.message)
	case p.begin != nil:
		return "begin " + p.begin.Action
	case p.action != nil:
		return fmt.Sprintf("go on with %s %s%s", p.action.Name, p.step, p.action.Outcome)
	case p.record != nil:
		return "record"
	case p.beginTask != nil:
		return "begin task " + p.beginTask.Name
	case p.task != nil:
		return fmt.Sprintf("task %s %s: %s", p.task.Name, cmp.Or(string(p.task.Outcome), "goes on"), cmp.Or(p.task.Message, p.awaits))
	case len(p.remove) > 0:
		var names []string
		for _, a := range p.remove {
			names = append(names, a.Name)
		}
		return "remove " + strings.Join(names, ", ")
	case !p.lingers.IsZero():
		return "linger until " + p.lingers.Format(time.TimeOnly)
	case p.finish:
		return "finish"
	}
	return "wait: " + p.awaits
}

func TestPlanOfARun(t *testing.T) {
	at := metav1.NewTime(noon)
	begin := Move[*drill]{Begin: &Beginning{Action: "restore", Cluster: Key(prod), Timeout: time.Hour}}
	deleted := func(of *drill) { of.DeletionTimestamp = &at }
	fresh := func(of *drill) { of.Finalizers, of.status = nil, metav1alpha1.RunStatus{} }
	ended := func(of *drill) { of.status.Outcome, of.status.EndedAt = metav1alpha1.RunSucceeded, &at }
	with := func(actions ...metav1alpha1.Action) func(*drill) {
		return func(of *drill) { of.status.Actions = actions }
	}
	removed := begun("restore", metav1alpha1.ActionSucceeded)
	removed.Removed = true
	doing := func(of *drill) {
		of.status.Tasks = []metav1alpha1.RunTask{{Name: "read", StartedAt: at, Deadline: metav1.NewTime(noon.Add(time.Hour))}}
	}
	later := func(o observed) observed { o.Now = noon.Add(time.Hour); return o }
	sandbox := begun("sandbox", metav1alpha1.ActionSucceeded)
	sandbox.Object = "v1/Namespace//sandbox"
	for name, row := range map[string]struct {
		o       observed
		move    Move[*drill]
		removes time.Time
		want    string
	}{
		"it waits for others":                      {o: waiting(underWay(func(of *drill) { of.status = metav1alpha1.RunStatus{} })), want: "wait: waits for DRDrill acme/other"},
		"what follows is recorded":                 {o: underWay(), move: Move[*drill]{Record: func(*drill) {}}, want: "record"},
		"a task begins":                            {o: underWay(), move: Move[*drill]{Task: &Task{Name: "read", Timeout: time.Hour}}, want: "begin task read"},
		"no task begins twice":                     {o: underWay(doing, func(of *drill) { of.status.Tasks[0].Outcome = metav1alpha1.ActionFailed }), move: Move[*drill]{Task: &Task{Name: "read"}}, want: "end Failed: task read would begin twice"},
		"a task is under way":                      {o: underWay(doing), move: begin, want: "task read goes on: read: under way"},
		"a task is tried again":                    {o: after(underWay(doing), background.Progress[func(*metav1alpha1.RunStatus)]{Running: true, Err: errors.New("no answer")}), want: "task read goes on: read: no answer"},
		"a task has ended":                         {o: after(underWay(doing), background.Progress[func(*metav1alpha1.RunStatus)]{Done: true}), want: "task read Succeeded: read: under way"},
		"a task is refused":                        {o: after(underWay(doing), background.Progress[func(*metav1alpha1.RunStatus)]{Done: true, Err: &Refusal{"no such bucket"}}), want: "task read Failed: no such bucket"},
		"a task takes too long":                    {o: later(after(underWay(doing), background.Progress[func(*metav1alpha1.RunStatus)]{Running: true, Err: errors.New("no answer")})), want: "task read TimedOut: it did not end within 1h0m0s: no answer"},
		"a task ended just in time":                {o: later(after(underWay(doing), background.Progress[func(*metav1alpha1.RunStatus)]{Done: true})), want: "task read Succeeded: read: under way"},
		"it is cancelled during a task":            {o: underWay(doing, func(of *drill) { of.spec.Cancel = true }), want: "end Cancelled: spec.cancel is true"},
		"what was made last is removed first":      {o: underWay(ended, with(sandbox, begun("a", ""), begun("b", ""))), want: "remove b, a"},
		"and then what it needed":                  {o: underWay(ended, with(sandbox, removed)), want: "remove sandbox"},
		"what it made lingers":                     {o: underWay(ended, with(sandbox)), removes: noon.Add(time.Minute), want: "linger until 12:01:00"},
		"but no longer than that":                  {o: underWay(ended, with(sandbox)), removes: noon, want: "remove sandbox"},
		"nor when the run is deleted":              {o: underWay(ended, deleted, with(sandbox)), removes: noon.Add(time.Minute), want: "remove sandbox"},
		"nor when its cluster is deleted":          {o: leaving(underWay(ended, with(sandbox))), removes: noon.Add(time.Minute), want: "remove sandbox"},
		"a new one is claimed":                     {o: underWay(fresh), want: "claim"},
		"a claimed one starts":                     {o: underWay(func(of *drill) { of.status = metav1alpha1.RunStatus{} }), want: "start"},
		"it is deleted before it is claimed":       {o: underWay(fresh, deleted), want: "wait: "},
		"it is deleted before it starts":           {o: underWay(func(of *drill) { of.status = metav1alpha1.RunStatus{} }, deleted), want: "release"},
		"a cluster that is known now is recorded":  {o: knows(underWay(), 1), move: begin, want: "know 2 clusters"},
		"an action begins":                         {o: underWay(), move: begin, want: "begin restore"},
		"an action goes on":                        {o: underWay(with(begun("restore", ""))), move: begin, want: "go on with restore "},
		"one that has ended is followed by others": {o: underWay(with(begun("backup", metav1alpha1.ActionSucceeded))), move: begin, want: "begin restore"},
		"none begins twice":                        {o: underWay(with(begun("restore", metav1alpha1.ActionFailed))), move: begin, want: "end Failed: action restore would begin twice"},
		"none begins elsewhere":                    {o: underWay(), move: Move[*drill]{Begin: &Beginning{Action: "restore", Cluster: types.NamespacedName{Name: "x"}}}, want: "end Failed: action restore would work in /x, which is none of the run's clusters"},
		"none begins in a cluster that is away":    {o: away(underWay(), "no answer"), move: begin, want: "wait: no answer"},
		"none begins before the cluster is there":  {o: away(underWay(), ""), move: begin, want: "wait: waits for TenantCluster acme/prod"},
		"it waits":                              {o: underWay(), move: Move[*drill]{Message: "waits for a standby"}, want: "wait: waits for a standby"},
		"it ends":                               {o: underWay(), move: Move[*drill]{Outcome: metav1alpha1.RunSucceeded, Message: "42 rows"}, want: "end Succeeded: 42 rows"},
		"it is cancelled":                       {o: underWay(func(of *drill) { of.spec.Cancel = true }), move: begin, want: "end Cancelled: spec.cancel is true"},
		"it is cancelled in the middle":         {o: underWay(func(of *drill) { of.spec.Cancel = true }, with(begun("restore", ""))), want: "end Cancelled: spec.cancel is true"},
		"it is deleted":                         {o: underWay(deleted), move: begin, want: "end Cancelled: it was deleted"},
		"its cluster is deleted":                {o: leaving(underWay()), move: begin, want: "end Cancelled: TenantCluster acme/prod is being deleted"},
		"what it made is removed":               {o: underWay(ended, with(begun("restore", metav1alpha1.ActionSucceeded))), move: begin, want: "remove restore"},
		"it is not cancelled after its end":     {o: underWay(ended, deleted, with(begun("restore", metav1alpha1.ActionSucceeded))), want: "remove restore"},
		"what was removed is not removed again": {o: underWay(ended, with(removed)), want: "finish"},
		"one that started late makes nothing":   {o: underWay(startBy(noon)), move: begin, want: "end Cancelled: it could not start before spec.startBy: others were under way, or the manager did not run"},
		"one that started in time goes on":      {o: underWay(startBy(noon.Add(time.Second))), move: begin, want: "begin restore"},
		"one that has finished is let go":       {o: underWay(ended, func(of *drill) { of.status.FinishedAt = &at }), want: "release"},
		"and then nothing is done any more":     {o: underWay(ended, func(of *drill) { of.status.FinishedAt, of.Finalizers = &at, nil }), move: begin, want: "wait: "},
	} {
		t.Run(name, func(t *testing.T) {
			if got := summarize(newPlan[*drill, metav1alpha1.RunStatus](drills{move: row.move, removes: row.removes}, row.o)); got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

func waiting(o observed) observed {
	o.waitsFor = "waits for DRDrill acme/other"
	return o
}

// startBy is for a run that has to start before a time.
func startBy(at time.Time) func(*drill) {
	return func(of *drill) { of.spec.StartBy = &metav1.Time{Time: at} }
}

func TestOneThatWaitsIsLookedAtWhenItIsLate(t *testing.T) {
	o := waiting(underWay(startBy(noon.Add(time.Hour))))
	o.Run.status = metav1alpha1.RunStatus{}
	if p := newPlan[*drill, metav1alpha1.RunStatus](drills{}, o); p.awaits == "" || !p.until.Equal(noon.Add(time.Hour)) {
		t.Errorf("it awaits %q until %s", p.awaits, p.until)
	}
}

func after(o observed, p background.Progress[func(*metav1alpha1.RunStatus)]) observed {
	o.progress = p
	return o
}

func knows(o observed, more int) observed {
	o.added = make([]metav1alpha1.ClusterReference, more)
	return o
}

func away(o observed, why string) observed {
	view := o.clusters[Key(prod)]
	view.cluster, view.Unreachable, view.Pending = nil, why, why == ""
	return o
}

func leaving(o observed) observed {
	o.clusters[Key(prod)].leaving = true
	return o
}

// What is not known of an action's object is said, and nothing is made before it is known.
func TestWhatIsKnownOfAnAction(t *testing.T) {
	a := begun("restore", "")
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"})
	object.SetNamespace("default")
	object.SetName("restore")
	for name, row := range map[string]struct {
		shown   fleet.Observed
		unknown string
		there   bool
	}{
		"nothing yet":           {unknown: "waits for the first list of ConfigMap"},
		"nothing":               {shown: fleet.Observed{KindState: tracker.KindState{Listed: true}}},
		"the object":            {shown: fleet.Observed{KindState: tracker.KindState{Listed: true}, Objects: []*unstructured.Unstructured{object}}, there: true},
		"a kind not listed now": {shown: fleet.Observed{KindState: tracker.KindState{Listed: true, Unknown: "forbidden"}}, unknown: "forbidden"},
		"too many objects":      {shown: fleet.Observed{KindState: tracker.KindState{Listed: true}, Incomplete: true}, unknown: "more objects with the label daytwo.dev/action"},
	} {
		t.Run(name, func(t *testing.T) {
			o := underWay()
			selection, _ := o.selectionOf(a)
			o.clusters[Key(prod)].observed = map[fleet.Selection]fleet.Observed{selection: row.shown}
			s := o.situationOf(a, nil)
			if !strings.Contains(s.Unknown, row.unknown) || (s.Unknown == "") != (row.unknown == "") || (s.Object != nil) != row.there || s.ClusterID != "id" {
				t.Errorf("got %+v", s)
			}
		})
	}
}

func TestReportOfARun(t *testing.T) {
	at := metav1.NewTime(noon)
	for name, row := range map[string]struct {
		status metav1alpha1.RunStatus
		done   result
		want   string
		beside string
	}{
		"under way":         {metav1alpha1.RunStatus{}, result{awaits: "restore: Restore velero/x: is New"}, "Unknown Progressing: restore: Restore velero/x: is New", metav1alpha1.ConditionReconciling},
		"failing":           {metav1alpha1.RunStatus{}, result{err: errors.New("no answer")}, "Unknown Failed: the last try failed, and is repeated: no answer", metav1alpha1.ConditionReconciling},
		"removing":          {metav1alpha1.RunStatus{Outcome: metav1alpha1.RunFailed, Message: "lost rows"}, result{awaits: "Restore velero/x is being removed"}, "Unknown Deleting: Failed (lost rows); Restore velero/x is being removed", metav1alpha1.ConditionReconciling},
		"failing to remove": {metav1alpha1.RunStatus{Outcome: metav1alpha1.RunSucceeded}, result{err: errors.New("no answer")}, "Unknown Failed: Succeeded; the last try failed, and is repeated: no answer", metav1alpha1.ConditionReconciling},
		"succeeded":         {metav1alpha1.RunStatus{Outcome: metav1alpha1.RunSucceeded, Message: "42 rows", FinishedAt: &at}, result{}, "True Succeeded: 42 rows", ""},
		"failed, with what it made left": {metav1alpha1.RunStatus{Outcome: metav1alpha1.RunFailed, Message: "lost rows"}, result{lingers: noon},
			"False Failed: lost rows; what it made stays until 2026-11-21T12:00:00Z, or until it is deleted", metav1alpha1.ConditionStalled},
		"failed":    {metav1alpha1.RunStatus{Outcome: metav1alpha1.RunFailed, Message: "lost rows", FinishedAt: &at}, result{}, "False Failed: lost rows", metav1alpha1.ConditionStalled},
		"cancelled": {metav1alpha1.RunStatus{Outcome: metav1alpha1.RunCancelled, Message: "it was deleted", FinishedAt: &at}, result{}, "False Cancelled: it was deleted", metav1alpha1.ConditionStalled},
	} {
		t.Run(name, func(t *testing.T) {
			report(&row.status, 7, noon, row.done)
			ready := meta.FindStatusCondition(row.status.Conditions, metav1alpha1.ConditionReady)
			if got := fmt.Sprintf("%s %s: %s", ready.Status, ready.Reason, ready.Message); got != row.want || row.status.ObservedGeneration != 7 {
				t.Errorf("got %q, want %q", got, row.want)
			}
			for _, kind := range []string{metav1alpha1.ConditionReconciling, metav1alpha1.ConditionStalled} {
				if meta.IsStatusConditionTrue(row.status.Conditions, kind) != (kind == row.beside) {
					t.Errorf("%s is wrong among %v", kind, row.status.Conditions)
				}
			}
		})
	}
}

func TestTheRegistryForgetsARunThatHasFinished(t *testing.T) {
	at := metav1.NewTime(noon)
	of := underWay().Run
	of.status.Actions = []metav1alpha1.Action{begun("restore", metav1alpha1.ActionSucceeded), {Name: "gone", Removed: true}}
	if view := viewOf(of); len(view.Clusters) != 1 || len(view.Holdings.Objects) != 1 || !view.RemovedSince.IsZero() {
		t.Errorf("under way: %+v", view)
	}
	of.status.Outcome, of.status.EndedAt = metav1alpha1.RunSucceeded, &at
	if view := viewOf(of); len(view.Clusters) != 1 || !view.RemovedSince.Equal(noon) {
		t.Errorf("after its end: %+v", view)
	}
	of.status.FinishedAt = &at
	if view := viewOf(of); len(view.Clusters) != 0 {
		t.Errorf("after it has finished: %+v", view)
	}
}
