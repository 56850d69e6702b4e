package addonrelease

import (
	"errors"
	"strings"
	"testing"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/addonrelease/helm"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/tracker"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/revision"
	"github.com/daytwo-dev/daytwo/controllers/internal/suspension"
	"github.com/daytwo-dev/daytwo/controllers/internal/target"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
)

func succeeded(ref objects.Ref, purpose apply.Purpose) apply.Written {
	return apply.Written{
		Write:       apply.Write{Object: declared(ref, "1"), Purpose: purpose, Seen: &tracker.Seen{At: noon, Fingerprint: "theirs"}},
		Fingerprint: "ours",
		Result:      &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{UID: "u", ResourceVersion: "2"}}, At: noon,
	}
}

// result is what came of a plan, as a test says.
type result struct {
	apply.Result
	status addonsv1alpha1.AddonReleaseStatus
	helm   helm.Result
}

// nothingDone is the result of no plan.
func nothingDone(o *observation) result {
	return result{
		Result: apply.Result{Inventory: o.Inventory}, status: o.Status, helm: helm.Result{Status: o.Status.Helm, RecordPending: o.Unfinished},
	}
}

func newReport(o *observation, p target.Plan, done result, shown target.Shown) (told struct {
	status *addonsv1alpha1.AddonReleaseStatus
}) {
	carried := target.Carried[addonsv1alpha1.AddonReleaseStatus]{Result: done.Result, Outcome: outcomeOf(o, done.helm), Recorded: done.status}
	told.status = releases.NewReport(o, p, carried, shown, nil).Status
	return told
}

func TestReport(t *testing.T) {
	a := configMapRef("a")
	refused := apierrors.NewBadRequest("spec.port must be at most 65535")
	rows := []struct {
		name   string
		change func(*observation, *target.Plan, *result, map[objects.Key]tracker.Health)
		ready  metav1.ConditionStatus
		reason string
		// present is which of Reconciling and Stalled is there.
		present string
		says    string
	}{
		{"Ready", func(*observation, *target.Plan, *result, map[objects.Key]tracker.Health) {},
			metav1.ConditionTrue, metav1alpha1.ReasonSucceeded, "", "2 objects as declared"},
		{"Unreachable", func(o *observation, _ *target.Plan, _ *result, _ map[objects.Key]tracker.Health) {
			o.Unreachable = "connection refused"
		},
			metav1.ConditionUnknown, metav1alpha1.ReasonClusterUnreachable, "", "connection refused"},
		{"UnreachableWhileDeleted", func(o *observation, _ *target.Plan, _ *result, _ map[objects.Key]tracker.Health) {
			deleting(o)
			o.Unreachable = "connection refused"
		}, metav1.ConditionUnknown, metav1alpha1.ReasonClusterUnreachable, "", "ConfigMap cache/a, ConfigMap cache/b"},
		{"InProgress", func(_ *observation, _ *target.Plan, _ *result, health map[objects.Key]tracker.Health) {
			health[a.Key()] = tracker.Health{Status: status.InProgressStatus, Message: "Available: 0/2"}
		}, metav1.ConditionFalse, metav1alpha1.ReasonProgressing, metav1alpha1.ConditionReconciling, "ConfigMap cache/a: Available: 0/2"},
		{"Failed", func(_ *observation, _ *target.Plan, _ *result, health map[objects.Key]tracker.Health) {
			health[a.Key()] = tracker.Health{Status: status.FailedStatus, Message: "deadline exceeded"}
		}, metav1.ConditionFalse, metav1alpha1.ReasonUnhealthy, "", "deadline exceeded"},
		{"Refused", func(_ *observation, _ *target.Plan, done *result, _ map[objects.Key]tracker.Health) {
			done.Written = []apply.Written{{Write: apply.Write{Object: declared(a, "2"), Purpose: apply.PurposeUpdate}, Err: refused}}
		}, metav1.ConditionFalse, metav1alpha1.ReasonRefused, metav1alpha1.ConditionStalled, "update ConfigMap cache/a: spec.port must be"},
		{"ATransientFailure", func(_ *observation, _ *target.Plan, done *result, _ map[objects.Key]tracker.Health) {
			done.Written = []apply.Written{{Write: apply.Write{Object: declared(a, "2"), Purpose: apply.PurposeUpdate}, Err: errors.New("connection reset")}}
		}, metav1.ConditionFalse, metav1alpha1.ReasonFailed, metav1alpha1.ConditionReconciling, "connection reset"},
		{"AConflict", func(_ *observation, _ *target.Plan, done *result, _ map[objects.Key]tracker.Health) {
			done.Written = []apply.Written{{Write: apply.Write{Object: declared(a, "2"), Purpose: apply.PurposeCreate}, Claim: objects.Claim{Owner: "Helm release x/y"}}}
		}, metav1.ConditionFalse, metav1alpha1.ReasonConflict, metav1alpha1.ConditionStalled, "belongs to Helm release x/y"},
		{"AMissingRevision", func(o *observation, _ *target.Plan, _ *result, _ map[objects.Key]tracker.Health) {
			o.Problem = revision.ErrNotFound
		}, metav1.ConditionFalse, metav1alpha1.ReasonRevisionNotFound, metav1alpha1.ConditionStalled, "change the policy"},
		{"Removing", func(_ *observation, _ *target.Plan, done *result, _ map[objects.Key]tracker.Health) {
			done.Removing = []apply.Removed{{Removal: apply.Removal{Entry: apply.Entry{Ref: a}}}}
		}, metav1.ConditionFalse, metav1alpha1.ReasonWaiting, metav1alpha1.ConditionReconciling, "ConfigMap cache/a to be gone"},
		{"Contested", func(_ *observation, p *target.Plan, _ *result, _ map[objects.Key]tracker.Health) {
			p.Held = []apply.Write{{Object: declared(a, "1"), Actor: apply.Actor{Manager: "stubborn"}}}
		}, metav1.ConditionFalse, metav1alpha1.ReasonContested, metav1alpha1.ConditionReconciling, "stubborn keeps changing ConfigMap cache/a"},
		{"ReportedDriftStaysReady", func(_ *observation, p *target.Plan, _ *result, _ map[objects.Key]tracker.Health) {
			p.Reported = []apply.Write{{Object: declared(a, "1"), Seen: &tracker.Seen{At: noon}, Actor: apply.Actor{Manager: "kubectl-edit", Fields: []string{".data.x"}}}}
		}, metav1.ConditionTrue, metav1alpha1.ReasonSucceeded, "", "kubectl-edit changed ConfigMap cache/a .data.x"},
		{"ARecordThatIsPending", func(_ *observation, _ *target.Plan, done *result, _ map[objects.Key]tracker.Health) {
			done.helm.RecordPending = true
		}, metav1.ConditionFalse, metav1alpha1.ReasonProgressing, metav1alpha1.ConditionReconciling, "applying revision"},
		{"ARecordThatIsPendingAfterEverythingWasApplied", func(o *observation, _ *target.Plan, done *result, _ map[objects.Key]tracker.Health) {
			done.helm.RecordPending, o.Inputs = true, "new"
			done.Written = []apply.Written{succeeded(a, apply.PurposeUpdate)}
		}, metav1.ConditionFalse, metav1alpha1.ReasonProgressing, metav1alpha1.ConditionReconciling, "applying revision"},
		{"ARecordThatIsPendingWhileSuspended", func(o *observation, _ *target.Plan, done *result, _ map[objects.Key]tracker.Health) {
			done.helm.RecordPending, o.Suspension = true, suspension.Suspension{Active: true}
		}, metav1.ConditionFalse, metav1alpha1.ReasonSuspended, "", "suspended"},
		{"ARecordThatIsPendingBesideReportedDrift", func(_ *observation, p *target.Plan, done *result, _ map[objects.Key]tracker.Health) {
			done.helm.RecordPending = true
			p.Reported = []apply.Write{{Object: declared(a, "1"), Seen: &tracker.Seen{At: noon}, Actor: apply.Actor{Manager: "kubectl-edit"}}}
		}, metav1.ConditionFalse, metav1alpha1.ReasonProgressing, metav1alpha1.ConditionReconciling, "applying revision"},
		{"SuspendedWithANewRevisionWaiting", func(o *observation, _ *target.Plan, _ *result, _ map[objects.Key]tracker.Health) {
			o.Suspension = suspension.Suspension{Active: true}
			o.Inputs = "other"
		}, metav1.ConditionFalse, metav1alpha1.ReasonSuspended, "", "suspended"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			o, p, done, health := scene(), target.Plan{}, result{}, map[objects.Key]tracker.Health{}
			row.change(o, &p, &done, health)
			got := newReport(o, p, done, target.Shown{Health: health}).status
			ready := meta.FindStatusCondition(got.Conditions, metav1alpha1.ConditionReady)
			if ready == nil || ready.Status != row.ready || ready.Reason != row.reason || !strings.Contains(ready.Message, row.says) {
				t.Errorf("Ready is %+v", ready)
			}
			for _, condition := range []string{metav1alpha1.ConditionReconciling, metav1alpha1.ConditionStalled} {
				if is, want := meta.IsStatusConditionTrue(got.Conditions, condition), condition == row.present; is != want {
					t.Errorf("%s is %t, want %t", condition, is, want)
				}
			}
		})
	}
}

func TestAHalfAppliedRevisionIsNotRecorded(t *testing.T) {
	o := scene(func(o *observation) { o.Inputs, o.Target.Spec.Revision = "new", "cache-2" })
	failed := result{Result: apply.Result{
		Written: []apply.Written{succeeded(configMapRef("a"), apply.PurposeUpdate), {Write: apply.Write{Object: declared(configMapRef("b"), "2")}, Err: errors.New("no")}},
	}}
	if got := newReport(o, target.Plan{}, failed, target.Shown{}).status; got.Revision == "cache-2" || got.InputsHash == "new" {
		t.Errorf("recorded as applied: %+v", got)
	}
	complete := result{Result: apply.Result{Written: []apply.Written{succeeded(configMapRef("a"), apply.PurposeUpdate)}}}
	if got := newReport(o, target.Plan{}, complete, target.Shown{}).status; got.Revision != "cache-2" || got.InputsHash != "new" {
		t.Errorf("not recorded though complete: %+v", got)
	}
}

func TestAWriteThatChangedNothingIsNoCorrection(t *testing.T) {
	unchanged := succeeded(configMapRef("a"), apply.PurposeCorrect)
	unchanged.Fingerprint = unchanged.Seen.Fingerprint
	if got := apply.Corrections([]apply.Written{unchanged}); len(got) != 0 {
		t.Errorf("counted: %v", got)
	}
}

func TestASecretsValueIsNotQuoted(t *testing.T) {
	const canary = "hunter2-canary"
	refused := apierrors.NewInvalid(schema.GroupKind{Kind: "Secret"}, "s", field.ErrorList{field.Invalid(field.NewPath("data", "password"), canary, "must be base64")})
	secret := objects.Ref{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, Namespace: "a", Name: "s"}
	if got := apply.Explain(secret, refused); strings.Contains(got, canary) || !strings.Contains(got, "data.password") {
		t.Error(got)
	}
	if got := apply.Explain(configMapRef("a"), refused); !strings.Contains(got, canary) {
		t.Error(got)
	}
}
