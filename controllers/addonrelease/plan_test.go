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
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/managedfields"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/suspension"
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

func declared(ref objects.Ref, hash string) desired {
	return desired{Ref: ref, stage: stageOf(ref.GroupKind()), body: []byte(`{}`), hash: hash}
}

// scene is a release whose cluster is connected, with objects a and b declared and in place.
func scene(change ...func(*observation)) observation {
	o := observation{
		release: &addonsv1alpha1.AddonRelease{ObjectMeta: metav1.ObjectMeta{Name: "cache-prod", Namespace: "fleet", Generation: 1}},
		objectsObservation: objectsObservation{
			now: noon, rules: managedfields.DefaultRules("test"), desired: []desired{declared(configMapRef("a"), "1"), declared(configMapRef("b"), "1")},
			inventory: inventory{}, sightings: map[objects.Key]sighting{}, holders: map[objects.Key]string{}, fights: map[objects.Key]fight{},
		},
		clusterID: "id", desiredKnown: true,
	}
	for _, name := range []string{"a", "b"} {
		o.hold(configMapRef(name), "1")
	}
	for _, c := range change {
		c(&o)
	}
	return o
}

func (o *observation) hold(ref objects.Ref, hash string) {
	o.inventory[ref.Key()] = entry{Ref: ref, uid: types.UID(ref.Name), hash: hash, fingerprint: "f"}
	o.sightings[ref.Key()] = sighting{seen: &fleet.Seen{Health: fleet.Health{Status: status.CurrentStatus}}}
}

func (o *observation) drift(ref objects.Ref) {
	o.sightings[ref.Key()] = sighting{drifted: true, seen: &fleet.Seen{Fingerprint: "g", At: noon}}
}

// standOutside marks an object that stands for something outside of the cluster.
func (o *observation) standOutside(ref objects.Ref) {
	e := o.inventory[ref.Key()]
	e.external = true
	o.inventory[ref.Key()] = e
}

// summarize makes a plan comparable: what is done to what, in order.
func summarize(p plan) string {
	text := ""
	for _, group := range []struct {
		name   string
		writes []write
	}{{"foundations", p.foundations}, {"rest", p.rest}, {"reported", p.reported}, {"held", p.held}} {
		for _, w := range group.writes {
			text += fmt.Sprintf("%s %s %s; ", group.name, w.purpose, w.Name)
		}
	}
	for _, w := range p.refused {
		text += fmt.Sprintf("refused %s %s; ", w.purpose, w.Name)
	}
	for _, r := range p.removals {
		text += "remove " + r.Name + "; "
	}
	for _, c := range p.conflicts {
		text += "conflict " + c.Name + " with " + c.holder + "; "
	}
	if p.finalize {
		text += "release; "
	}
	return text
}

func deleting(o *observation) {
	now := metav1.NewTime(noon)
	o.release.DeletionTimestamp = &now
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
		{"CreatesWhatIsNew", func(o *observation) { o.desired = append(o.desired, declared(c, "1")) }, "rest create c; "},
		{"TriesAgainWhatWasOnlyIntended", func(o *observation) { o.inventory[a.Key()] = entry{Ref: a} }, "rest create a; "},
		{"UpdatesWhatChanged", func(o *observation) { o.desired[1].hash = "2" }, "rest update b; "},
		{"CorrectsDrift", func(o *observation) { o.drift(a) }, "rest correct a; "},
		{"RemovesWhatLeftTheSource", func(o *observation) { o.desired = o.desired[:1] }, "remove b; "},
		{"FoundationsGoFirst", func(o *observation) {
			o.desired = append(o.desired, declared(c, "1"), declared(namespaceRef("cache"), "1"))
		}, "foundations create cache; rest create c; "},
		{"LeavesAnotherTargetsObject", func(o *observation) {
			o.desired = append(o.desired, declared(c, "1"))
			o.holders[c.Key()] = "SaaSAddon fleet/other"
		}, "conflict c with SaaSAddon fleet/other; "},
		{"ReportModeLeavesDrift", func(o *observation) { o.release.Spec.Drift.Mode = addonsv1alpha1.DriftReport; o.drift(a) }, "reported correct a; "},
		{"ReportModeStillUpdates", func(o *observation) {
			o.release.Spec.Drift.Mode = addonsv1alpha1.DriftReport
			o.drift(a)
			o.desired[0].hash = "2"
		}, "rest correct a; reported correct a; "},
		{"OffIgnoresDrift", func(o *observation) { o.release.Spec.Drift.Mode = addonsv1alpha1.DriftOff; o.drift(a) }, ""},
		{"SuspensionStopsAllButReports", func(o *observation) {
			o.suspension = suspension.Suspension{Active: true}
			o.drift(a)
			o.desired = []desired{declared(a, "2"), declared(c, "1")}
		}, "reported correct a; "},
		{"AFightIsHeldBack", func(o *observation) {
			o.drift(a)
			o.fights[a.Key()] = fight{rounds: patience + 3, last: noon.Add(-time.Second)}
		}, "held correct a; "},
		{"WhatWasRefusedIsNotSentAgain", func(o *observation) {
			o.desired = append(o.desired, declared(c, "1"))
			o.refused = map[objects.Key]refusal{c.Key(): {hash: "1", surroundings: o.surroundings(), until: noon.Add(time.Minute)}}
		}, "refused create c; "},
		{"WhatWasRefusedIsSentWhenItChanges", func(o *observation) {
			o.desired = append(o.desired, declared(c, "2"))
			o.refused = map[objects.Key]refusal{c.Key(): {hash: "1", surroundings: o.surroundings(), until: noon.Add(time.Minute)}}
		}, "rest create c; "},
		{"WhatWasRefusedIsSentOnRequest", func(o *observation) {
			o.desired, o.request = append(o.desired, declared(c, "1")), "now"
			o.refused = map[objects.Key]refusal{c.Key(): {hash: "1", surroundings: o.surroundings(), until: noon.Add(time.Minute)}}
		}, "rest create c; "},
		{"WhatWasRefusedIsSentAgainLater", func(o *observation) {
			o.desired = append(o.desired, declared(c, "1"))
			o.refused = map[objects.Key]refusal{c.Key(): {hash: "1", surroundings: o.surroundings(), until: noon}}
		}, "rest create c; "},
		{"WhatWasRefusedIsSentWhenAnotherObjectOfTheReleaseHasChanged", func(o *observation) {
			o.desired = append(o.desired, declared(c, "1"))
			o.refused = map[objects.Key]refusal{c.Key(): {hash: "1", surroundings: o.surroundings(), until: noon.Add(time.Minute)}}
			o.hold(b, "2")
			o.desired[1].hash = "2"
		}, "rest create c; "},
		{"WhatATerminatingNamespaceRefusedWaitsUntilItIsGone", func(o *observation) {
			o.hold(ns, "1")
			o.desired = append(o.desired, declared(ns, "1"), declared(c, "1"))
			o.refused = map[objects.Key]refusal{c.Key(): {hash: "1", surroundings: o.surroundings(), until: noon.Add(time.Minute), err: terminating}}
		}, "refused create c; "},
		{"WhatATerminatingNamespaceRefusedIsSentWhenItIsGone", func(o *observation) {
			o.hold(ns, "1")
			o.desired = append(o.desired, declared(ns, "1"), declared(c, "1"))
			o.refused = map[objects.Key]refusal{c.Key(): {hash: "1", surroundings: o.surroundings(), until: noon.Add(time.Minute), err: terminating}}
			o.sightings[ns.Key()] = sighting{seen: &fleet.Seen{Gone: true}, drifted: true}
		}, "foundations correct cache; rest create c; "},
		{"WhatATerminatingNamespaceOfOthersRefusedIsSentSoon", func(o *observation) {
			o.desired = append(o.desired, declared(c, "1"))
			o.refused = map[objects.Key]refusal{c.Key(): {hash: "1", surroundings: o.surroundings(), until: noon, err: terminating}}
		}, "rest create c; "},
		{"AnUnreachableClusterIsLeftAlone", func(o *observation) { o.unreachable = "no answer"; o.drift(a) }, ""},
		{"ABadRevisionIsNotApplied", func(o *observation) { o.problem = fmt.Errorf("bad"); o.drift(a) }, ""},
		{"DeletionRemovesEverything", deleting, "remove a; remove b; release; "},
		{"DeletionOfAnOrphanRemovesNothing", func(o *observation) {
			deleting(o)
			o.release.Spec.DeletionPolicy = metav1alpha1.DeletionPolicyOrphan
		}, "release; "},
		{"DeletionWaitsForTheCluster", func(o *observation) { deleting(o); o.unreachable = "no answer" }, ""},
		{"AnAbandonedTargetIsLetGo", func(o *observation) {
			deleting(o)
			o.unreachable = "no answer"
			o.release.Annotations = map[string]string{metav1alpha1.AnnotationAbandon: "true"}
		}, "release; "},
		{"AnImportedClusterThatDoesNotAnswerIsWaitedForUntilItsTimeIsOver", func(o *observation) {
			deleting(o)
			o.unreachable, o.going = "no answer", &clusterDeletion{cluster: clusterKept, deadline: noon.Add(time.Second)}
		}, ""},
		{"ItsReleaseIsThenLetGo", func(o *observation) {
			deleting(o)
			o.unreachable, o.going = "no answer", &clusterDeletion{cluster: clusterKept, deadline: noon}
		}, "release; "},
		{"AnImportedClusterThatAnswersIsWaitedForHoweverLong", func(o *observation) {
			deleting(o)
			o.going = &clusterDeletion{cluster: clusterKept, deadline: noon.Add(-time.Hour)}
		}, "remove a; remove b; release; "},
		{"WithoutADeadlineItTakesAsLongAsItTakes", func(o *observation) {
			deleting(o)
			o.unreachable, o.going = "no answer", &clusterDeletion{cluster: clusterKept}
		}, ""},
		{"AClusterThatGoesAlongTakesWhatIsInItAlong", func(o *observation) {
			deleting(o)
			o.going = &clusterDeletion{cluster: clusterDeleted, deadline: noon.Add(time.Hour)}
		}, "release; "},
		{"WhatHasThingsOutsideIsCleanedUpInIt", func(o *observation) {
			deleting(o)
			o.standOutside(a)
			o.going = &clusterDeletion{cluster: clusterDeleted, deadline: noon.Add(time.Hour)}
		}, "remove a; remove b; release; "},
		{"NothingGoesBeforeTheFinalBackup", func(o *observation) {
			deleting(o)
			o.going = &clusterDeletion{cluster: clusterKept, deadline: noon.Add(time.Hour), backupFirst: true}
		}, ""},
		{"NorFromAClusterThatGoesAlongHoweverLongThatTakes", func(o *observation) {
			deleting(o)
			o.standOutside(a)
			o.going = &clusterDeletion{cluster: clusterDeleted, deadline: noon.Add(-time.Hour), backupFirst: true}
		}, ""},
		{"AClusterThatIsGivenUpIsNotBackedUp", func(o *observation) {
			deleting(o)
			o.unreachable, o.going = "no answer", &clusterDeletion{cluster: clusterKept, deadline: noon, backupFirst: true}
		}, "release; "},
		{"WhatIsAbandonedWaitsForNoBackup", func(o *observation) {
			deleting(o)
			o.unreachable, o.going = "no answer", &clusterDeletion{cluster: clusterKept, backupFirst: true}
			o.release.Annotations = map[string]string{metav1alpha1.AnnotationAbandon: "true"}
		}, "release; "},
		{"AReachableClusterIsCleanedUpEvenIfAbandoned", func(o *observation) {
			deleting(o)
			o.release.Annotations = map[string]string{metav1alpha1.AnnotationAbandon: "true"}
		}, "remove a; remove b; release; "},
		{"DeletionGoesOnWhileSuspended", func(o *observation) { deleting(o); o.suspension = suspension.Suspension{Active: true} }, "remove a; remove b; release; "},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			if got := summarize(makePlan(scene(row.change))); got != row.want {
				t.Errorf("plan is %q, want %q", got, row.want)
			}
		})
	}
}

func TestPlanAwaitsDefinitions(t *testing.T) {
	definition := definitionRef("widgets.example.com")
	p := makePlan(scene(func(o *observation) { o.desired = append(o.desired, declared(definition, "1")) }))
	if len(p.awaited) != 1 || p.awaited[0] != definition.Key() {
		t.Errorf("a new definition is not awaited: %v", p.awaited)
	}
	p = makePlan(scene(func(o *observation) {
		o.desired = append(o.desired, declared(definition, "1"))
		o.hold(definition, "1")
	}))
	if len(p.awaited) != 0 {
		t.Errorf("an established definition is awaited: %v", p.awaited)
	}
}

func TestPlanningAfterSuccessChangesNothing(t *testing.T) {
	o := scene(func(o *observation) {
		o.desired = append(o.desired, declared(configMapRef("c"), "1"), declared(namespaceRef("cache"), "1"))
		o.desired[0].hash = "2"
		o.drift(configMapRef("b"))
	})
	p := makePlan(o)
	for _, w := range append(p.foundations, p.rest...) {
		o.hold(w.Ref, w.hash)
	}
	if got := summarize(makePlan(o)); got != "" {
		t.Errorf("a second plan would %s", got)
	}
}

func TestFightsBackOffAndAreForgiven(t *testing.T) {
	f, now := fight{}, noon
	for range patience {
		if f.ready().After(now) {
			t.Fatalf("held back after %d rounds", f.rounds)
		}
		f = f.after(now, "kubectl")
		now = now.Add(time.Second)
	}
	var last time.Duration
	for range 20 {
		wait := f.ready().Sub(f.last)
		if wait < last || wait > longestWait || wait < time.Second {
			t.Fatalf("waits %s after %s", wait, last)
		}
		last, now = wait, f.ready()
		f = f.after(now, "kubectl")
	}
	if last != longestWait {
		t.Errorf("ends at %s, want %s", last, longestWait)
	}
	if f = f.after(now.Add(24*time.Hour), "kubectl"); f.rounds != 1 {
		t.Errorf("a day later it counts %d rounds", f.rounds)
	}
}
