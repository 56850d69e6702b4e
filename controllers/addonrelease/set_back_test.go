package addonrelease

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"helm.sh/helm/v4/pkg/release/common"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	helmrecord "github.com/daytwo-dev/daytwo/controllers/internal/helm"
)

// migrated is a hook of upgrades whose object stays.
const migrated = `apiVersion: v1
kind: ConfigMap
metadata:
  name: migrated
  annotations: {helm.sh/hook: pre-upgrade}
`

// newUpgrade begins an upgrade of a chart, and returns the record of before it.
func newUpgrade(t *testing.T, files map[string]string) (*addon, *corev1.Secret) {
	t.Helper()
	a := declareAddon(t, "")
	a.start(a.packaged(map[string]string{"templates/palette.yaml": configMap("palette", "blue")}))
	a.waitReady()
	record := &corev1.Secret{}
	if name := a.helmRelease().SecretName(1); !a.exists(record, name) {
		t.Fatalf("there is no record %s", name)
	}
	files["templates/palette.yaml"] = configMap("palette", "green")
	a.move(a.packaged(files))
	return a, record
}

func configMap(name, color string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\ndata: {color: " + color + "}\n"
}

// setBack puts the cluster back to before the upgrade while the release does not look.
func (a *addon) setBack(before *corev1.Secret) {
	a.t.Helper()
	a.change(func(release *addonsv1alpha1.AddonRelease) { release.Spec.Suspend = true })
	eventually(a.t, "the release is suspended", func() (bool, string) {
		release := a.get()
		return release.Status.ObservedGeneration == release.Generation, describeConditions(release)
	})
	before = before.DeepCopy()
	before.ResourceVersion = ""
	for _, err := range []error{
		shared.workload.Delete(a.t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: a.helmRelease().SecretName(2)}}),
		shared.workload.Update(a.t.Context(), before),
		shared.workload.Delete(a.t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: "migrated"}}),
	} {
		if err != nil {
			a.t.Fatal(err)
		}
	}
}

// TestHooksRunAgainInAClusterThatIsPutBackWhileSomethingElseIsUnderWay has the release apply something, like the removal
// of what came back with the snapshot, when it hears of the records.
func TestHooksRunAgainInAClusterThatIsPutBackWhileSomethingElseIsUnderWay(t *testing.T) {
	t.Parallel()
	a, before := newUpgrade(t, map[string]string{"templates/migrated.yaml": migrated})
	a.waitReady()
	a.setBack(before)
	release := a.get()
	applying := release.DeepCopy()
	applying.Status.Applying = release.Status.InputsHash
	if err := shared.management.Status().Patch(t.Context(), applying, client.MergeFrom(release)); err != nil {
		t.Fatal(err)
	}
	a.change(func(release *addonsv1alpha1.AddonRelease) { release.Spec.Suspend = false })
	a.waitReady()
	a.expectRecords("2 deployed, 1 superseded")
	if !a.exists(&corev1.ConfigMap{}, "migrated") {
		t.Error("the hook of the upgrade did not run again")
	}
}

// TestHooksOfAnUpgradeThatIsUndoneMeanwhileAreTriedAgain puts the cluster back while the second of two hooks runs.
func TestHooksOfAnUpgradeThatIsUndoneMeanwhileAreTriedAgain(t *testing.T) {
	t.Parallel()
	a, before := newUpgrade(t, map[string]string{
		"templates/migrated.yaml": migrated, "templates/once.yaml": strings.ReplaceAll(once, "pre-install", "pre-upgrade"),
	})
	a.waitFor(metav1alpha1.ConditionReady, metav1.ConditionFalse, addonsv1alpha1.ReasonHookRunning)
	a.setBack(before)
	a.change(func(release *addonsv1alpha1.AddonRelease) { release.Spec.Suspend = false })
	failed := a.waitFor(metav1alpha1.ConditionStalled, metav1.ConditionTrue, addonsv1alpha1.ReasonHookFailed)
	if message := messageOf(failed); !strings.Contains(message, "ran before the cluster was put back") {
		t.Errorf("the message is %q", message)
	}
	a.change(func(release *addonsv1alpha1.AddonRelease) { release.Spec.RequestedAt = "now" })
	eventually(t, "the first hook runs again", func() (bool, string) {
		return a.exists(&corev1.ConfigMap{}, "migrated"), describeConditions(a.get())
	})
}

func TestPlanHelmAfterTheClusterWasPutBack(t *testing.T) {
	upgraded := func(o *observation) {
		begun(addonsv1alpha1.HookSucceeded, time.Hour)(o)
		o.Status.InputsHash = "new"
	}
	of := func(entries ...helmrecord.Entry) func(*observation) {
		return func(o *observation) { o.Extra.History = entries }
	}
	old := helmrecord.Entry{Version: 2, Status: common.StatusDeployed, Inputs: "old"}
	pending := helmrecord.Entry{Version: 3, Status: common.StatusPendingUpgrade, Inputs: "new"}
	deployed := helmrecord.Entry{Version: 3, Status: common.StatusDeployed, Inputs: "new"}
	drifted := func(o *observation) { o.Extra.RecordDrifted = true }
	applying := func(o *observation) { o.Status.Applying = "new" }
	gone := func(o *observation) { o.Extra.RecordGone = true }
	unfinished := func(o *observation) { o.Unfinished = true }
	suspended := func(o *observation) { o.Suspension.Active = true }
	reporting := func(o *observation) { o.Target.Spec.Drift.Mode = metav1alpha1.DriftReport }
	for _, row := range []struct {
		name    string
		o       *observation
		setBack bool
		lost    bool
	}{
		{"Upgraded", chartScene(upgraded, of(deployed)), false, false},
		{"UpgradedAndApplying", chartScene(upgraded, of(deployed), applying), false, false},
		{"BeforeTheUpgrade", chartScene(upgraded, of(old), drifted, gone), true, false},
		{"BeforeTheUpgradeAndApplying", chartScene(upgraded, of(old), applying, gone), true, false},
		{"BeforeALaterUpgradeInTheManagementCluster", chartScene(upgraded, of(helmrecord.Entry{Version: 4, Status: common.StatusDeployed, Inputs: "newer"}), drifted), true, false},
		{"AnOldList", chartScene(upgraded, of(old), applying), false, false},
		{"InTheUpgrade", chartScene(upgraded, of(pending, old), drifted), true, false},
		{"InTheUpgradeAndSuspended", chartScene(upgraded, of(pending, old), drifted, suspended), false, false},
		{"InTheUpgradeWhereDriftIsReported", chartScene(upgraded, of(pending, old), drifted, reporting), false, false},
		{"InTheUpgradeAndApplying", chartScene(upgraded, of(pending, old), drifted, applying), true, false},
		{"AStatusThatComesLateSaysThatItIsDone", chartScene(upgraded, of(pending, old), unfinished), false, false},
		{"TheUpgradeIsUnderWay", chartScene(begun(addonsv1alpha1.HookRunning, 0), of(pending, old)), false, false},
		{"TheUpgradeIsAboutToBegin", chartScene(of(old)), false, false},
		{"BeforeAnUpgradeThatIsUnderWay", chartScene(begun(addonsv1alpha1.HookSucceeded, 0), of(old), gone), false, true},
		{"AnOldListOfAnUpgradeThatIsUnderWay", chartScene(begun(addonsv1alpha1.HookSucceeded, 0), of(old)), false, false},
		{"TheRecordsWereDeleted", chartScene(upgraded, of(), drifted), false, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			seen := forHelm(row.o)
			if got := seen.IsSetBack(); got != row.setBack {
				t.Errorf("it is set back: %t", got)
			}
			if operation := seen.WithoutLostHooks(); (operation != nil) != row.lost {
				t.Errorf("without its lost hooks, the operation is %v", operation)
			}
		})
	}
}
