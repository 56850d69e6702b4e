package policy

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/clusterstate"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/revision"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/targetstate"
)

var noon = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

type observed = observation[*addonsv1alpha1.SaaSAddon, *addonsv1alpha1.AddonRelease]

// testKind is a kind of policy whose content is given.
type testKind struct {
	content Content[*addonsv1alpha1.SaaSAddon]
}

func (testKind) NewPolicy() *addonsv1alpha1.SaaSAddon    { return &addonsv1alpha1.SaaSAddon{} }
func (testKind) NewTarget() *addonsv1alpha1.AddonRelease { return &addonsv1alpha1.AddonRelease{} }

func (testKind) CopyStatus(to, from *addonsv1alpha1.SaaSAddon)  { to.Status = *from.Status.DeepCopy() }
func (testKind) CopySpec(to, from *addonsv1alpha1.AddonRelease) { to.Spec = *from.Spec.DeepCopy() }

func (k testKind) Content(context.Context, *addonsv1alpha1.SaaSAddon, time.Time) (Content[*addonsv1alpha1.SaaSAddon], error) {
	return k.content, nil
}

func (testKind) References(*addonsv1alpha1.SaaSAddon) []Reference { return nil }
func (testKind) Forget(client.ObjectKey)                          {}

func (testKind) SyncSettings(target *addonsv1alpha1.AddonRelease, addon *addonsv1alpha1.SaaSAddon) {
	target.Spec.Adopt = addon.Spec.Adopt
}

func (testKind) SettingsCurrent(target *addonsv1alpha1.AddonRelease, addon *addonsv1alpha1.SaaSAddon) bool {
	return target.Spec.Adopt == addon.Spec.Adopt
}

func (testKind) State(target *addonsv1alpha1.AddonRelease) (rollout.State, string) {
	return targetstate.Reasons{}.State(target)
}

func (testKind) Objects(target *addonsv1alpha1.AddonRelease) (objects []string) {
	for _, entry := range target.Status.Inventory {
		objects = append(objects, entry.ID)
	}
	return objects
}

// fixture is an observation, and the objects that its view is made of.
type fixture struct {
	observed
	clusters []*tenancyv1alpha1.TenantCluster
	targets  []*addonsv1alpha1.AddonRelease
	missing  []string
	stored   []revision.Stored
}

// o is the observation as it is when the objects are as they are now.
func (f *fixture) o() observed {
	o := f.observed
	o.view = newView(basisOf(f.policy, f.now))
	for _, found := range f.clusters {
		o.view.setCluster(wantedIn(f.policy, found, "", f.now))
	}
	for _, target := range f.targets {
		o.view.setTarget(targetOf(testKind{}, f.policy, o.view.basis.settings, target), target.Status.Revision)
	}
	o.view.missing, o.view.stored = f.missing, f.stored
	o.view.setRevision(currentRevision(o))
	return o
}

// report is what is reported of the plan that is made now, with an error if there is one.
func (f *fixture) report(err error) report[*addonsv1alpha1.SaaSAddon] {
	o := f.o()
	return newReport(testKind{}, o, newPlan(o), result{err: err})
}

// settled is a policy that is ready in one cluster.
func settled(t *testing.T) fixture {
	t.Helper()
	addon := &addonsv1alpha1.SaaSAddon{ObjectMeta: metav1.ObjectMeta{
		Namespace: "acme", Name: "cache", Generation: 3, Finalizers: []string{metav1alpha1.FinalizerPolicy},
	}}
	snapshot, err := revision.NewSnapshot("cache", []byte("content"))
	if err != nil {
		t.Fatal(err)
	}
	found := &tenancyv1alpha1.TenantCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "prod"},
		Status: tenancyv1alpha1.TenantClusterStatus{
			Version:    "v1.36.3",
			Conditions: []metav1.Condition{{Type: tenancyv1alpha1.ConditionConnected, Status: metav1.ConditionTrue}},
		},
	}
	target := newTarget(testKind{}, addon, rollout.ClusterKey{Namespace: "acme", Name: "prod"})
	target.Spec.Revision, target.Spec.Cluster = snapshot.Name, clusterstate.ParametersOf(found)
	settingsOf(addon, noon).setOn(&target.Spec.TargetSpec)
	target.Status.Conditions = []metav1.Condition{{Type: metav1alpha1.ConditionReady, Status: metav1.ConditionTrue}}
	target.Status.Revision = snapshot.Name
	return fixture{
		observed: observed{policy: addon, now: noon, snapshot: snapshot},
		clusters: []*tenancyv1alpha1.TenantCluster{found}, targets: []*addonsv1alpha1.AddonRelease{target},
	}
}

func TestReport(t *testing.T) {
	tests := map[string]struct {
		change  func(*fixture)
		failed  error
		ready   metav1.ConditionStatus
		reason  string
		message string
		stalled bool
		again   time.Duration
	}{
		"ready": {
			ready: metav1.ConditionTrue, reason: metav1alpha1.ReasonSucceeded, message: "ready in 1 cluster",
		},
		"a disruptive revision waits for the window": {
			change: func(seen *fixture) {
				seen.policy.Spec.Rollout.Disruptive = true
				seen.targets[0].Spec.Revision = "cache-older"
				seen.clusters[0].Spec.MaintenanceWindows = []metav1alpha1.RecurringWindow{{Schedule: "0 13 * * *"}}
				seen.clusters[0].Status.MaintenanceWindow = &tenancyv1alpha1.Span{
					Start: metav1.NewTime(noon.Add(time.Hour)), End: metav1.NewTime(noon.Add(2 * time.Hour)),
				}
			},
			ready: metav1.ConditionFalse, reason: metav1alpha1.ReasonWindowClosed, message: "waiting for a maintenance window in 1 cluster (prod)", again: time.Hour,
		},
		"a problem stalls": {
			change: func(o *fixture) {
				o.stall, o.snapshot = &Stall{Reason: metav1alpha1.ReasonReferenceNotFound, Message: "ConfigMap x is missing"}, nil
			},
			ready: metav1.ConditionFalse, reason: metav1alpha1.ReasonReferenceNotFound, message: "ConfigMap x is missing", stalled: true,
		},
		"an error does not stall": {
			failed: errors.New("create AddonRelease: quota exceeded"),
			ready:  metav1.ConditionFalse, reason: metav1alpha1.ReasonFailed, message: "quota exceeded",
		},
		"a name that no cluster has": {
			change: func(o *fixture) { o.missing = []string{"prdo"} },
			ready:  metav1.ConditionFalse, reason: metav1alpha1.ReasonReferenceNotFound, message: "do not exist: prdo",
		},
		"suspended and up to date": {
			change: func(o *fixture) {
				o.policy.Annotations = map[string]string{metav1alpha1.AnnotationSuspendUntil: "2030-01-01T13:00:00Z"}
				o.targets[0].Spec.Suspend = true
			},
			ready: metav1.ConditionTrue, reason: metav1alpha1.ReasonSucceeded, message: "suspended until 2030-01-01T13:00:00Z", again: time.Hour,
		},
		"a cluster's suspension ends by itself": {
			change: func(o *fixture) {
				o.clusters[0].Annotations = map[string]string{metav1alpha1.AnnotationSuspendUntil: "2030-01-01T12:30:00Z"}
			},
			ready: metav1.ConditionTrue, reason: metav1alpha1.ReasonSucceeded, again: 30 * time.Minute,
		},
		"a suspension that has ended is none": {
			change: func(o *fixture) {
				o.policy.Annotations = map[string]string{metav1alpha1.AnnotationSuspendUntil: "2030-01-01T11:00:00Z"}
			},
			ready: metav1.ConditionTrue, reason: metav1alpha1.ReasonSucceeded,
		},
		"a suspension that cannot be read is told and ignored": {
			change: func(o *fixture) {
				o.policy.Annotations = map[string]string{metav1alpha1.AnnotationSuspendUntil: "tomorrow"}
			},
			ready: metav1.ConditionTrue, reason: metav1alpha1.ReasonSucceeded, message: `"tomorrow" is no time`,
		},
		"what a target said of an older generation does not count": {
			change: func(o *fixture) { o.targets[0].Generation = 2 },
			ready:  metav1.ConditionFalse, reason: metav1alpha1.ReasonRollingOut,
		},
		"a conflict of identity is no connection": {
			change: func(o *fixture) {
				conditions := &o.clusters[0].Status.Conditions
				*conditions = append(*conditions, metav1.Condition{Type: tenancyv1alpha1.ConditionIdentityConflict, Status: metav1.ConditionTrue, Message: "held by another"})
			},
			ready: metav1.ConditionUnknown, reason: metav1alpha1.ReasonClusterUnusable, message: ": held by another;",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			seen := settled(t)
			if test.change != nil {
				test.change(&seen)
			}
			reported := seen.report(test.failed)
			ready := meta.FindStatusCondition(reported.status.Status.Conditions, metav1alpha1.ConditionReady)
			if ready.Status != test.ready || ready.Reason != test.reason || !strings.Contains(ready.Message, test.message) {
				t.Errorf("Ready is %s/%s %q", ready.Status, ready.Reason, ready.Message)
			}
			if stalled := meta.IsStatusConditionTrue(reported.status.Status.Conditions, metav1alpha1.ConditionStalled); stalled != test.stalled {
				t.Errorf("Stalled is %t", stalled)
			}
			if reported.again != test.again {
				t.Errorf("again in %s, want %s", reported.again, test.again)
			}
		})
	}
}

func TestPlanStoresTheRevisionOnceAndKeepsWhatTargetsUse(t *testing.T) {
	o := settled(t)
	if newPlan(o.o()).store == nil {
		t.Error("the revision is not stored")
	}
	o.stored = []revision.Stored{{Name: o.snapshot.Name, Label: o.snapshot.Label, Complete: true, Secrets: []string{o.snapshot.Name}}}
	if todo := newPlan(o.o()); todo.store != nil || !todo.rollout.Empty() || len(todo.prune) > 0 || todo.addFinalizer {
		t.Errorf("still to do: %+v", todo)
	}
}

func TestRefusedSelectorLeavesTargetsAlone(t *testing.T) {
	o := settled(t)
	o.stall = &Stall{Reason: metav1alpha1.ReasonSelectorNotAllowed}
	o.targets[0].Spec.Revision = "cache-older"
	if todo := newPlan(o.o()); !todo.rollout.Empty() {
		t.Errorf("plan %+v", todo.rollout)
	}
}
