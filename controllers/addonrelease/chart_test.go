package addonrelease

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/release/common"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/addoncontent"
	helmrecord "github.com/daytwo-dev/daytwo/controllers/internal/helm"
	"github.com/daytwo-dev/daytwo/controllers/internal/render"
	"github.com/daytwo-dev/daytwo/e2e/charts"
	"github.com/daytwo-dev/daytwo/e2e/helmclient"
)

// newChart starts a release of a chart, in a namespace of its own.
func newChart(t *testing.T, chart, values string, change ...func(*addonsv1alpha1.AddonReleaseSpec)) *addon {
	t.Helper()
	a := declareAddon(t, "")
	a.start(a.chart(chart, charts.FirstVersion, values), change...)
	return a
}

// chart stores a revision with a chart.
func (a *addon) chart(name, version, values string) string {
	a.t.Helper()
	archive, err := charts.Archive(name, version)
	if err != nil {
		a.t.Fatal(err)
	}
	return a.revisionOf(addoncontent.Content{
		Namespace: a.namespace, CreateNamespace: true,
		Chart: &addoncontent.Chart{
			Repository: "oci://registry.example/charts", Name: name, Version: version, Digest: "sha256:" + version,
			Archive: archive, Values: []render.ValuesLayer{{Name: "values", Text: values}},
			ReleaseName: a.releaseName(), CRDs: string(addonsv1alpha1.CRDCreateReplace), HookTimeout: time.Minute, AsksForAPIs: true,
		},
	})
}

func (a *addon) releaseName() string { return "shop" }

func (a *addon) move(revision string) {
	a.t.Helper()
	a.change(func(release *addonsv1alpha1.AddonRelease) { release.Spec.Revision = revision })
}

func (a *addon) helmRelease() helmrecord.Release {
	return helmrecord.Release{Namespace: a.namespace, Name: a.releaseName()}
}

// records are the versions and states of the release's records, the latest first.
func (a *addon) records() string {
	a.t.Helper()
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	selector := client.MatchingLabels{"owner": "helm", "name": a.releaseName()}
	if err := shared.workload.List(a.t.Context(), list, client.InNamespace(a.namespace), selector); err != nil {
		a.t.Fatal(err)
	}
	var text []string
	for _, entry := range helmrecord.NewHistory(a.helmRelease(), list.Items) {
		text = append(text, fmt.Sprintf("%d %s", entry.Version, entry.Status))
	}
	return strings.Join(text, ", ")
}

func (a *addon) expectRecords(want string) {
	a.t.Helper()
	if got := a.records(); got != want {
		a.t.Errorf("the records are %q, want %q", got, want)
	}
}

func (a *addon) exists(object client.Object, name string) bool {
	a.t.Helper()
	object.SetNamespace(a.namespace)
	object.SetName(name)
	err := a.fetch(object)
	if client.IgnoreNotFound(err) != nil {
		a.t.Fatal(err)
	}
	return err == nil
}

func TestAChartBecomesAReleaseAndIsUpgraded(t *testing.T) {
	t.Parallel()
	a := newChart(t, "web", `{"replicas": 2}`)
	release := a.waitReady()
	a.expectRecords("1 deployed")
	deployment := &appsv1.Deployment{}
	if !a.exists(deployment, "shop-web") || *deployment.Spec.Replicas != 2 || !a.helmRelease().Owns(deployment) {
		t.Errorf("the Deployment is %+v", deployment.ObjectMeta)
	}
	if release.Status.Helm.Version != 1 || release.Status.Helm.Chart != "web-1.0.0" {
		t.Errorf("the status says %+v", release.Status.Helm)
	}
	a.move(a.chart("web", charts.SecondVersion, `{"replicas": 3}`))
	a.waitReady()
	a.expectRecords("2 deployed, 1 superseded")
	if a.exists(deployment, "shop-web"); *deployment.Spec.Replicas != 3 {
		t.Errorf("%d replicas after the upgrade", *deployment.Spec.Replicas)
	}
}

func TestGoingBackIsARollback(t *testing.T) {
	t.Parallel()
	a := newChart(t, "hooks", `{}`)
	first := a.waitReady().Spec.Revision
	a.move(a.chart("hooks", charts.SecondVersion, `{}`))
	a.waitReady()
	a.move(first)
	release := a.waitReady()
	a.expectRecords("3 deployed, 2 superseded, 1 superseded")
	if operation := release.Status.Helm.Operation; operation.Kind != addonsv1alpha1.HelmRollback || operation.RollbackTo != 1 {
		t.Errorf("the operation was %+v", operation)
	}
	if !a.exists(&batchv1.Job{}, "shop-hooks-export") {
		t.Error("the hook of the rollback did not run")
	}
}

func TestHooksRunInOrderAndLeaveWhatTheirPoliciesSay(t *testing.T) {
	t.Parallel()
	a := newChart(t, "hooks", `{}`)
	release := a.waitReady()
	a.expectRecords("1 deployed")
	var ran []string
	for _, run := range release.Status.Helm.Operation.Hooks {
		ran = append(ran, run.Event+" "+run.Object[strings.LastIndex(run.Object, "-")+1:])
		if run.Phase != addonsv1alpha1.HookSucceeded {
			t.Errorf("%s is %s: %s", run.Object, run.Phase, run.Message)
		}
	}
	if want := "pre-install migrations, pre-install migrate, post-install seed, post-install verify"; strings.Join(ran, ", ") != want {
		t.Errorf("ran %s", strings.Join(ran, ", "))
	}
	for name, want := range map[string]bool{"shop-hooks-migrate": false, "shop-hooks-seed": false, "shop-hooks-verify": true} {
		if a.exists(&batchv1.Job{}, name) != want {
			t.Errorf("hook %s is there: %v", name, !want)
		}
	}
}

func TestAFailedHookHoldsTheUpgradeAndTellsItsPodsState(t *testing.T) {
	t.Parallel()
	a := newChart(t, "hooks", `{}`)
	a.waitReady()
	a.move(a.chart("hooks", charts.SecondVersion, `{"upgrade": {"fail": true}}`))
	release := a.waitFor(metav1alpha1.ConditionStalled, metav1.ConditionTrue, addonsv1alpha1.ReasonHookFailed)
	if message := messageOf(release); !strings.Contains(message, "pre-upgrade hook Job") || !strings.Contains(message, "pod") {
		t.Errorf("the message is %q", message)
	}
	a.expectRecords("2 failed, 1 deployed")
	a.move(a.chart("hooks", charts.SecondVersion, `{}`))
	a.waitReady()
	a.expectRecords("3 deployed, 2 failed, 1 superseded")
}

func TestWhatAChartGeneratesStaysAsItIs(t *testing.T) {
	t.Parallel()
	a := newChart(t, "certificate", `{}`)
	a.waitReady()
	before := a.secrets()
	// The manager starts anew, and everything has to be put right.
	shared.reconciler.caches.sets.InvalidateAll()
	a.change(func(release *addonsv1alpha1.AddonRelease) { release.Spec.RequestedAt = "now" })
	eventually(t, "it is looked at again", func() (bool, string) { return a.get().Status.HandledRequest == "now", "" })
	for name, data := range before {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: name}}
		if err := shared.workload.Delete(t.Context(), secret); err != nil {
			t.Fatal(err)
		}
		eventually(t, name+" is as it was", func() (bool, string) {
			err := a.fetch(secret)
			return err == nil && fmt.Sprint(secret.Data) == data, fmt.Sprint(err)
		})
	}
	a.waitReady()
	a.expectRecords("1 deployed")
}

// byHand installs a chart as a person would.
func (a *addon) byHand(chart, values string) {
	a.t.Helper()
	client, archive, parsed := a.person(chart, charts.FirstVersion, values)
	_, err := client.Install(a.t.Context(), types.NamespacedName(a.helmRelease()), archive, parsed, func(install *action.Install) {
		install.CreateNamespace = true
	})
	if err != nil {
		a.t.Fatal(err)
	}
}

func (a *addon) upgradeByHand(chart, version, values string) {
	a.t.Helper()
	client, archive, parsed := a.person(chart, version, values)
	if _, err := client.Upgrade(a.t.Context(), types.NamespacedName(a.helmRelease()), archive, parsed); err != nil {
		a.t.Fatal(err)
	}
}

// person has the rights of an administrator, and Helm.
func (a *addon) person(chart, version, values string) (*helmclient.Client, []byte, map[string]any) {
	a.t.Helper()
	client, err := helmclient.New(shared.workloadConfig, helmclient.Settings{})
	if err != nil {
		a.t.Fatal(err)
	}
	archive, err := charts.Archive(chart, version)
	if err != nil {
		a.t.Fatal(err)
	}
	parsed := map[string]any{}
	if err := json.Unmarshal([]byte(values), &parsed); err != nil {
		a.t.Fatal(err)
	}
	return client, archive, parsed
}

// secrets are the chart's Secrets, by name.
func (a *addon) secrets() map[string]string {
	a.t.Helper()
	list := &corev1.SecretList{}
	if err := shared.workload.List(a.t.Context(), list, client.InNamespace(a.namespace)); err != nil {
		a.t.Fatal(err)
	}
	found := map[string]string{}
	for _, secret := range list.Items {
		if secret.Type != "helm.sh/release.v1" {
			found[secret.Name] = fmt.Sprint(secret.Data)
		}
	}
	if len(found) == 0 {
		a.t.Fatal("the chart made no Secret")
	}
	return found
}

func TestAReleaseMadeByHandIsAConflictUntilItIsAdopted(t *testing.T) {
	t.Parallel()
	a := declareAddon(t, "")
	a.byHand("web", `{"replicas": 1}`)
	a.start(a.chart("web", charts.FirstVersion, `{"replicas": 2}`))
	release := a.waitFor(metav1alpha1.ConditionStalled, metav1.ConditionTrue, metav1alpha1.ReasonConflict)
	if message := messageOf(release); !strings.Contains(message, "version 1, deployed") || !strings.Contains(message, "adopt") {
		t.Errorf("the message is %q", message)
	}
	deployment := &appsv1.Deployment{}
	a.exists(deployment, "shop-web")
	uid := deployment.UID
	a.change(func(release *addonsv1alpha1.AddonRelease) { release.Spec.Adopt = true })
	a.waitReady()
	if a.exists(deployment, "shop-web"); deployment.UID != uid || *deployment.Spec.Replicas != 2 {
		t.Errorf("it was installed anew: %s %s, or left: %d replicas", uid, deployment.UID, *deployment.Spec.Replicas)
	}
	a.expectRecords("2 deployed, 1 superseded")
}

func TestAPersonsUpgradeIsTakenBack(t *testing.T) {
	t.Parallel()
	a := newChart(t, "web", `{"replicas": 2}`)
	a.waitReady()
	a.upgradeByHand("web", charts.SecondVersion, `{"replicas": 5}`)
	eventually(t, "the records are put right", func() (bool, string) {
		records := a.records()
		return records == "3 deployed, 2 superseded, 1 superseded", records
	})
	a.waitReady()
	deployment := &appsv1.Deployment{}
	if a.exists(deployment, "shop-web"); *deployment.Spec.Replicas != 2 {
		t.Errorf("%d replicas", *deployment.Spec.Replicas)
	}
	if drift := a.get().Status.Drift; drift.Count == 0 {
		t.Error("nobody is told")
	}
}

func TestAReleaseIsUninstalledWithItsHooksAndRecords(t *testing.T) {
	t.Parallel()
	a := newChart(t, "hooks", `{}`)
	a.waitReady()
	if err := shared.management.Delete(t.Context(), a.get()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the release is gone", func() (bool, string) {
		release := a.get()
		return release.UID == "", describeConditions(release)
	})
	a.expectRecords("")
	if !a.exists(&batchv1.Job{}, "shop-hooks-farewell") {
		t.Error("the last hook did not run")
	}
	for _, name := range []string{"shop-hooks-drain", "shop-hooks-seed"} {
		if a.exists(&batchv1.Job{}, name) {
			t.Errorf("hook %s is still there", name)
		}
	}
}

func TestDataOutlivesARelease(t *testing.T) {
	t.Parallel()
	a := newChart(t, "database", `{"password": "secret"}`)
	// Nobody binds volumes here, so it never becomes ready.
	a.waitFor(metav1alpha1.ConditionApplied, metav1.ConditionTrue, metav1alpha1.ReasonSucceeded)
	claims := &corev1.PersistentVolumeClaimList{}
	count := func() int {
		if err := shared.workload.List(t.Context(), claims, client.InNamespace(a.namespace)); err != nil {
			t.Fatal(err)
		}
		return len(claims.Items)
	}
	// One is the chart's own, and one the StatefulSet's controller makes, in its own time.
	eventually(t, "the claims are there", func() (bool, string) {
		found := count()
		return found >= 2, fmt.Sprintf("there are %d", found)
	})
	before := count()
	if err := shared.management.Delete(t.Context(), a.get()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the release is gone", func() (bool, string) {
		release := a.get()
		return release.UID == "", describeConditions(release)
	})
	if after := count(); after != before {
		t.Errorf("%d claims before, %d after", before, after)
	}
}

func TestTestsRunOnDemand(t *testing.T) {
	t.Parallel()
	a := newChart(t, "hooks", `{}`)
	a.waitReady()
	for token, want := range map[string]addonsv1alpha1.HookPhase{"first": addonsv1alpha1.HookSucceeded} {
		a.change(func(release *addonsv1alpha1.AddonRelease) { release.Spec.RunTests = token })
		eventually(t, "the tests end", func() (bool, string) {
			tests := a.get().Status.Helm.Tests
			return tests != nil && tests.Token == token && tests.Phase == want, fmt.Sprintf("%+v", tests)
		})
	}
	if ready := meta.FindStatusCondition(a.get().Status.Conditions, metav1alpha1.ConditionReady); ready.Status != metav1.ConditionTrue {
		t.Errorf("tests changed the release: %+v", ready)
	}
	a.expectRecords("1 " + common.StatusDeployed.String())
}

func TestGoingBackFromAFailedUpgradeIsARollback(t *testing.T) {
	t.Parallel()
	a := newChart(t, "hooks", `{}`)
	first := a.waitReady().Spec.Revision
	a.move(a.chart("hooks", charts.SecondVersion, `{"upgrade": {"fail": true}}`))
	a.waitFor(metav1alpha1.ConditionStalled, metav1.ConditionTrue, addonsv1alpha1.ReasonHookFailed)
	a.move(first)
	release := a.waitReady()
	a.expectRecords("3 deployed, 2 failed, 1 superseded")
	if operation := release.Status.Helm.Operation; operation.Kind != addonsv1alpha1.HelmRollback {
		t.Errorf("the operation was %+v", operation)
	}
}

func TestAdoptionRemovesWhatOnlyTheOldReleaseHadAlsoWithHooksInBetween(t *testing.T) {
	t.Parallel()
	a := declareAddon(t, "")
	a.byHand("web", `{}`)
	a.start(a.chart("hooks", charts.FirstVersion, `{}`), func(spec *addonsv1alpha1.AddonReleaseSpec) { spec.Adopt = true })
	a.waitReady()
	if a.exists(&appsv1.Deployment{}, "shop-web") {
		t.Error("the old release's Deployment is still there")
	}
	a.expectRecords("2 deployed, 1 superseded")
}

func TestAHookThatIsThereAlreadyIsNotTakenForRun(t *testing.T) {
	t.Parallel()
	a := declareAddon(t, "")
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: a.namespace}}
	if err := shared.workload.Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	seed := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: "shop-hooks-seed"}}
	seed.Spec.Template.Spec = corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "a", Image: "a"}}}
	a.create(seed, "kubectl-create")
	a.start(a.chart("hooks", charts.FirstVersion, `{}`))
	release := a.waitFor(metav1alpha1.ConditionStalled, metav1.ConditionTrue, addonsv1alpha1.ReasonHookFailed)
	if message := messageOf(release); !strings.Contains(message, "is there already") || !strings.Contains(message, "before-hook-creation") {
		t.Errorf("the message is %q", message)
	}
	if !a.exists(seed, "shop-hooks-seed") {
		t.Error("it was deleted all the same")
	}
}

// Deleting a customer's namespace deletes revisions before releases.
func TestAReleaseWhoseRevisionIsGoneIsUninstalledWithoutItsHooks(t *testing.T) {
	t.Parallel()
	a := newChart(t, "hooks", `{}`)
	release := a.waitReady()
	revision := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: release.Spec.Revision}}
	if err := shared.management.Delete(t.Context(), revision); err != nil {
		t.Fatal(err)
	}
	shared.reconciler.caches.revisions.InvalidateAll()
	shared.reconciler.caches.sets.InvalidateAll()
	if err := shared.management.Delete(t.Context(), release); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the release is gone", func() (bool, string) {
		release := a.get()
		return release.UID == "", describeConditions(release)
	})
	a.expectRecords("")
	if a.exists(&corev1.ConfigMap{}, "shop-hooks") || a.exists(&batchv1.Job{}, "shop-hooks-farewell") {
		t.Error("objects are left, or a hook ran of which nobody can know")
	}
}

func TestAnotherClusterInItsPlaceGetsEverything(t *testing.T) {
	t.Parallel()
	a := newChart(t, "hooks", `{}`)
	before := len(a.waitReady().Status.Inventory)
	a.change(func(release *addonsv1alpha1.AddonRelease) { release.Spec.Suspend = true })
	a.waitReady()
	release := a.get()
	stored := release.DeepCopy()
	release.Status.ClusterID = "another"
	if err := shared.management.Status().Patch(t.Context(), release, client.MergeFrom(stored)); err != nil {
		t.Fatal(err)
	}
	a.change(func(release *addonsv1alpha1.AddonRelease) { release.Spec.RequestedAt = "now" })
	eventually(t, "the other cluster is noticed", func() (bool, string) { return len(a.get().Status.Inventory) == 0, "" })
	a.change(func(release *addonsv1alpha1.AddonRelease) { release.Spec.Suspend = false })
	if got := a.waitReady(); len(got.Status.Inventory) != before || got.Status.Helm == nil || got.Status.Helm.Operation == nil {
		t.Errorf("%d objects, %+v", len(got.Status.Inventory), got.Status.Helm)
	}
}
