package addonrelease

import (
	"fmt"
	"testing"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/connectivity"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/tracker"
	"github.com/daytwo-dev/daytwo/controllers/internal/managedfields"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/suspension"
	"github.com/daytwo-dev/daytwo/controllers/internal/target"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func configMapRef(name string) objects.Ref {
	return objects.Ref{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, Namespace: "cache", Name: name}
}

func namespaceRef(name string) objects.Ref {
	return objects.Ref{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, Name: name}
}

func definitionRef(name string) objects.Ref {
	return objects.Ref{GroupVersionKind: schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}, Name: name}
}

func declared(ref objects.Ref, hash string) apply.Object {
	return apply.Object{Ref: ref, Stage: apply.StageOf(ref.GroupKind()), Body: []byte(`{}`), Hash: hash}
}

// scene is a release whose cluster is connected, with objects a and b declared and in place.
func scene(change ...func(*observation)) *observation {
	o := &observation{
		Target: &addonsv1alpha1.AddonRelease{ObjectMeta: metav1.ObjectMeta{Name: "cache-prod", Namespace: "fleet", Generation: 1}},
		Observation: target.Observation{Observation: apply.Observation{
			Now: noon, Rules: managedfields.DefaultRules("test"), Desired: []apply.Object{declared(configMapRef("a"), "1"), declared(configMapRef("b"), "1")},
			Inventory: apply.Inventory{}, States: map[objects.Key]apply.ObjectState{}, Owners: map[objects.Key]string{}, Contentions: map[objects.Key]apply.Contention{},
		}, DesiredKnown: true},
	}
	o.Preconditions, o.Drift = target.NewPreconditions(o.Target, noon), &o.Target.Spec.Drift
	o.ClusterID = "id"
	for _, name := range []string{"a", "b"} {
		hold(o, configMapRef(name), "1")
	}
	for _, c := range change {
		c(o)
	}
	return o
}

func hold(o *observation, ref objects.Ref, hash string) {
	o.Inventory[ref.Key()] = apply.Entry{Ref: ref, UID: types.UID(ref.Name), Hash: hash, Fingerprint: "f"}
	o.States[ref.Key()] = apply.ObjectState{Seen: &tracker.Seen{Health: tracker.Health{Status: status.CurrentStatus}}}
}

func drift(o *observation, ref objects.Ref) {
	o.States[ref.Key()] = apply.ObjectState{Drifted: true, Seen: &tracker.Seen{Fingerprint: "g", At: noon}}
}

// standOutside marks an object that stands for something outside of the cluster.
func standOutside(o *observation, ref objects.Ref) {
	e := o.Inventory[ref.Key()]
	e.External = true
	o.Inventory[ref.Key()] = e
}

// releases plans and reports without a room.
var releases = (&Reconciler{}).declared()

func newPlan(o *observation) target.Plan { return releases.NewPlan(o) }

func statusOf(o *observation) target.Status { return (&Reconciler{}).Parts(&o.Status) }

// summarize makes a plan comparable: what is done to what, in order.
func summarize(p target.Plan) string {
	text := ""
	for _, group := range []struct {
		name   string
		writes []apply.Write
	}{{"foundations", p.Prerequisites}, {"rest", p.Rest}, {"reported", p.Reported}, {"held", p.Held}} {
		for _, w := range group.writes {
			text += fmt.Sprintf("%s %s %s; ", group.name, w.Purpose, w.Name)
		}
	}
	for _, w := range p.Refused {
		text += fmt.Sprintf("refused %s %s; ", w.Purpose, w.Name)
	}
	for _, r := range p.Removals {
		text += "remove " + r.Name + "; "
	}
	for _, c := range p.Conflicts {
		text += "conflict " + c.Name + " with " + c.Owner + "; "
	}
	if p.Finalize {
		text += "release; "
	}
	return text
}

func deleting(o *observation) {
	now := metav1.NewTime(noon)
	o.Target.DeletionTimestamp = &now
}

func TestPlan(t *testing.T) {
	a, b, c, ns := configMapRef("a"), configMapRef("b"), configMapRef("c"), namespaceRef("cache")
	terminating := &apierrors.StatusError{ErrStatus: metav1.Status{Details: &metav1.StatusDetails{
		Causes: []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}},
	}}}
	rows := []struct {
		name   string
		change func(*observation)
		want   string
	}{
		{"NothingWhenAllIsAsDeclared", func(*observation) {}, ""},
		{"CreatesWhatIsNew", func(o *observation) { o.Desired = append(o.Desired, declared(c, "1")) }, "rest create c; "},
		{"TriesAgainWhatWasOnlyIntended", func(o *observation) { o.Inventory[a.Key()] = apply.Entry{Ref: a} }, "rest create a; "},
		{"UpdatesWhatChanged", func(o *observation) { o.Desired[1].Hash = "2" }, "rest update b; "},
		{"CorrectsDrift", func(o *observation) { drift(o, a) }, "rest correct a; "},
		{"RemovesWhatLeftTheSource", func(o *observation) { o.Desired = o.Desired[:1] }, "remove b; "},
		{"FoundationsGoFirst", func(o *observation) {
			o.Desired = append(o.Desired, declared(c, "1"), declared(namespaceRef("cache"), "1"))
		}, "foundations create cache; rest create c; "},
		{"LeavesAnotherTargetsObject", func(o *observation) {
			o.Desired = append(o.Desired, declared(c, "1"))
			o.Owners[c.Key()] = "SaaSAddon fleet/other"
		}, "conflict c with SaaSAddon fleet/other; "},
		{"ReportModeLeavesDrift", func(o *observation) { o.Target.Spec.Drift.Mode = metav1alpha1.DriftReport; drift(o, a) }, "reported correct a; "},
		{"ReportModeStillUpdates", func(o *observation) {
			o.Target.Spec.Drift.Mode = metav1alpha1.DriftReport
			drift(o, a)
			o.Desired[0].Hash = "2"
		}, "rest correct a; reported correct a; "},
		{"OffIgnoresDrift", func(o *observation) { o.Target.Spec.Drift.Mode = metav1alpha1.DriftOff; drift(o, a) }, ""},
		{"SuspensionStopsAllButReports", func(o *observation) {
			o.Suspension = suspension.Suspension{Active: true}
			drift(o, a)
			o.Desired = []apply.Object{declared(a, "2"), declared(c, "1")}
		}, "reported correct a; "},
		{"AFightIsHeldBack", func(o *observation) {
			drift(o, a)
			o.Contentions[a.Key()] = apply.Contention{Count: apply.Unhindered + 3, Last: noon.Add(-time.Second)}
		}, "held correct a; "},
		{"WhatWasRefusedIsNotSentAgain", func(o *observation) {
			o.Desired = append(o.Desired, declared(c, "1"))
			o.Refused = map[objects.Key]apply.Refusal{c.Key(): {Hash: "1", Surroundings: o.Surroundings(), Until: noon.Add(time.Minute)}}
		}, "refused create c; "},
		{"WhatWasRefusedIsSentWhenItChanges", func(o *observation) {
			o.Desired = append(o.Desired, declared(c, "2"))
			o.Refused = map[objects.Key]apply.Refusal{c.Key(): {Hash: "1", Surroundings: o.Surroundings(), Until: noon.Add(time.Minute)}}
		}, "rest create c; "},
		{"WhatWasRefusedIsSentOnRequest", func(o *observation) {
			o.Desired, o.Request = append(o.Desired, declared(c, "1")), "now"
			o.Refused = map[objects.Key]apply.Refusal{c.Key(): {Hash: "1", Surroundings: o.Surroundings(), Until: noon.Add(time.Minute)}}
		}, "rest create c; "},
		{"WhatWasRefusedIsSentAgainLater", func(o *observation) {
			o.Desired = append(o.Desired, declared(c, "1"))
			o.Refused = map[objects.Key]apply.Refusal{c.Key(): {Hash: "1", Surroundings: o.Surroundings(), Until: noon}}
		}, "rest create c; "},
		{"WhatWasRefusedIsSentWhenAnotherObjectOfTheReleaseHasChanged", func(o *observation) {
			o.Desired = append(o.Desired, declared(c, "1"))
			o.Refused = map[objects.Key]apply.Refusal{c.Key(): {Hash: "1", Surroundings: o.Surroundings(), Until: noon.Add(time.Minute)}}
			hold(o, b, "2")
			o.Desired[1].Hash = "2"
		}, "rest create c; "},
		{"WhatATerminatingNamespaceRefusedWaitsUntilItIsGone", func(o *observation) {
			hold(o, ns, "1")
			o.Desired = append(o.Desired, declared(ns, "1"), declared(c, "1"))
			o.Refused = map[objects.Key]apply.Refusal{c.Key(): {Hash: "1", Surroundings: o.Surroundings(), Until: noon.Add(time.Minute), Err: terminating}}
		}, "refused create c; "},
		{"WhatATerminatingNamespaceRefusedIsSentWhenItIsGone", func(o *observation) {
			hold(o, ns, "1")
			o.Desired = append(o.Desired, declared(ns, "1"), declared(c, "1"))
			o.Refused = map[objects.Key]apply.Refusal{c.Key(): {Hash: "1", Surroundings: o.Surroundings(), Until: noon.Add(time.Minute), Err: terminating}}
			o.States[ns.Key()] = apply.ObjectState{Seen: &tracker.Seen{Gone: true}, Drifted: true}
		}, "foundations correct cache; rest create c; "},
		{"WhatATerminatingNamespaceOfOthersRefusedIsSentSoon", func(o *observation) {
			o.Desired = append(o.Desired, declared(c, "1"))
			o.Refused = map[objects.Key]apply.Refusal{c.Key(): {Hash: "1", Surroundings: o.Surroundings(), Until: noon, Err: terminating}}
		}, "rest create c; "},
		{"AnUnreachableClusterIsLeftAlone", func(o *observation) { o.Unreachable = "no answer"; drift(o, a) }, ""},
		{"ABadRevisionIsNotApplied", func(o *observation) { o.Problem = fmt.Errorf("bad"); drift(o, a) }, ""},
		{"DeletionRemovesEverything", deleting, "remove a; remove b; release; "},
		{"DeletionOfAnOrphanRemovesNothing", func(o *observation) {
			deleting(o)
			o.Target.Spec.DeletionPolicy = metav1alpha1.DeletionPolicyOrphan
		}, "release; "},
		{"DeletionWaitsForTheCluster", func(o *observation) { deleting(o); o.Unreachable = "no answer" }, ""},
		{"AnAbandonedTargetIsLetGo", func(o *observation) {
			deleting(o)
			o.Unreachable = "no answer"
			o.Target.Annotations = map[string]string{metav1alpha1.AnnotationAbandon: "true"}
		}, "release; "},
		{"AnImportedClusterThatDoesNotAnswerIsWaitedForUntilItsTimeIsOver", func(o *observation) {
			deleting(o)
			o.Unreachable, o.ClusterDeletion = "no answer", &connectivity.ClusterDeletion{Outcome: connectivity.ClusterKept, Deadline: noon.Add(time.Second)}
		}, ""},
		{"ItsReleaseIsThenLetGo", func(o *observation) {
			deleting(o)
			o.Unreachable, o.ClusterDeletion = "no answer", &connectivity.ClusterDeletion{Outcome: connectivity.ClusterKept, Deadline: noon}
		}, "release; "},
		{"AnImportedClusterThatAnswersIsWaitedForHoweverLong", func(o *observation) {
			deleting(o)
			o.ClusterDeletion = &connectivity.ClusterDeletion{Outcome: connectivity.ClusterKept, Deadline: noon.Add(-time.Hour)}
		}, "remove a; remove b; release; "},
		{"WithoutADeadlineItTakesAsLongAsItTakes", func(o *observation) {
			deleting(o)
			o.Unreachable, o.ClusterDeletion = "no answer", &connectivity.ClusterDeletion{Outcome: connectivity.ClusterKept}
		}, ""},
		{"AClusterThatGoesAlongTakesWhatIsInItAlong", func(o *observation) {
			deleting(o)
			o.ClusterDeletion = &connectivity.ClusterDeletion{Outcome: connectivity.ClusterDeleted, Deadline: noon.Add(time.Hour)}
		}, "release; "},
		{"WhatHasThingsOutsideIsCleanedUpInIt", func(o *observation) {
			deleting(o)
			standOutside(o, a)
			o.ClusterDeletion = &connectivity.ClusterDeletion{Outcome: connectivity.ClusterDeleted, Deadline: noon.Add(time.Hour)}
		}, "remove a; remove b; release; "},
		{"NothingGoesBeforeTheFinalBackup", func(o *observation) {
			deleting(o)
			o.ClusterDeletion = &connectivity.ClusterDeletion{Outcome: connectivity.ClusterKept, Deadline: noon.Add(time.Hour), BackupFirst: true}
		}, ""},
		{"NorFromAClusterThatGoesAlongHoweverLongThatTakes", func(o *observation) {
			deleting(o)
			standOutside(o, a)
			o.ClusterDeletion = &connectivity.ClusterDeletion{Outcome: connectivity.ClusterDeleted, Deadline: noon.Add(-time.Hour), BackupFirst: true}
		}, ""},
		{"AClusterThatIsGivenUpIsNotBackedUp", func(o *observation) {
			deleting(o)
			o.Unreachable, o.ClusterDeletion = "no answer", &connectivity.ClusterDeletion{Outcome: connectivity.ClusterKept, Deadline: noon, BackupFirst: true}
		}, "release; "},
		{"WhatIsAbandonedWaitsForNoBackup", func(o *observation) {
			deleting(o)
			o.Unreachable, o.ClusterDeletion = "no answer", &connectivity.ClusterDeletion{Outcome: connectivity.ClusterKept, BackupFirst: true}
			o.Target.Annotations = map[string]string{metav1alpha1.AnnotationAbandon: "true"}
		}, "release; "},
		{"AReachableClusterIsCleanedUpEvenIfAbandoned", func(o *observation) {
			deleting(o)
			o.Target.Annotations = map[string]string{metav1alpha1.AnnotationAbandon: "true"}
		}, "remove a; remove b; release; "},
		{"DeletionGoesOnWhileSuspended", func(o *observation) { deleting(o); o.Suspension = suspension.Suspension{Active: true} }, "remove a; remove b; release; "},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			if got := summarize(newPlan(scene(row.change))); got != row.want {
				t.Errorf("plan is %q, want %q", got, row.want)
			}
		})
	}
}

func TestPlanAwaitsDefinitions(t *testing.T) {
	definition := definitionRef("widgets.example.com")
	p := newPlan(scene(func(o *observation) { o.Desired = append(o.Desired, declared(definition, "1")) }))
	if len(p.Awaited) != 1 || p.Awaited[0] != definition.Key() {
		t.Errorf("a new definition is not awaited: %v", p.Awaited)
	}
	p = newPlan(scene(func(o *observation) {
		o.Desired = append(o.Desired, declared(definition, "1"))
		hold(o, definition, "1")
	}))
	if len(p.Awaited) != 0 {
		t.Errorf("an established definition is awaited: %v", p.Awaited)
	}
}

func TestPlanningAfterSuccessChangesNothing(t *testing.T) {
	o := scene(func(o *observation) {
		o.Desired = append(o.Desired, declared(configMapRef("c"), "1"), declared(namespaceRef("cache"), "1"))
		o.Desired[0].Hash = "2"
		drift(o, configMapRef("b"))
	})
	p := newPlan(o)
	for _, w := range append(p.Prerequisites, p.Rest...) {
		hold(o, w.Ref, w.Hash)
	}
	if got := summarize(newPlan(o)); got != "" {
		t.Errorf("a second plan would %s", got)
	}
}

func TestFightsBackOffAndAreForgiven(t *testing.T) {
	f, now := apply.Contention{}, noon
	for range apply.Unhindered {
		if f.Ready().After(now) {
			t.Fatalf("held back after %d rounds", f.Count)
		}
		f = f.After(now, "kubectl")
		now = now.Add(time.Second)
	}
	var last time.Duration
	for range 20 {
		wait := f.Ready().Sub(f.Last)
		if wait < last || wait > apply.LongestWait || wait < time.Second {
			t.Fatalf("waits %s after %s", wait, last)
		}
		last, now = wait, f.Ready()
		f = f.After(now, "kubectl")
	}
	if last != apply.LongestWait {
		t.Errorf("ends at %s, want %s", last, apply.LongestWait)
	}
	if f = f.After(now.Add(24*time.Hour), "kubectl"); f.Count != 1 {
		t.Errorf("a day later it counts %d rounds", f.Count)
	}
}

func TestRemovalsRememberHowFarTheyCame(t *testing.T) {
	a := configMapRef("a")
	o := scene(deleting, func(o *observation) {
		o.Desired = nil
		o.Deletions = map[objects.Key]apply.Deletion{
			a.Key():                 {UID: "a", Sent: true, Next: noon.Add(time.Second)},
			configMapRef("b").Key(): {UID: "an earlier one", Sent: true},
		}
	})
	removals := apply.PlanRemovals(o.Objects(statusOf(o)))
	if len(removals) != 2 || !removals[0].Deletion.Sent || removals[1].Deletion.Sent {
		t.Fatalf("got %+v", removals)
	}
	o.Request = "now"
	if removals = apply.PlanRemovals(o.Objects(statusOf(o))); !removals[0].Deletion.Sent || !removals[0].Deletion.Next.IsZero() {
		t.Errorf("a person who asks for a try has to wait: %+v", removals[0].Deletion)
	}
}
