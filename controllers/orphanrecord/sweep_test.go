package orphanrecord

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/helm"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

func TestWhatWasLeftGoesWhenTheClusterIsRegisteredAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	made := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: r.namespace + "-made"}}
	inside := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: made.Name, Name: "settings"}}
	r.record(r.make(made), r.make(inside), r.make(r.configMap("other")))
	if got := testutil.ToFloat64(r.reconciler.Metrics.records.WithLabelValues(r.namespace)); got != 0 {
		t.Errorf("%v records are counted before anybody looked", got)
	}
	r.reconcile()
	if got := testutil.ToFloat64(r.reconciler.Metrics.records.WithLabelValues(r.namespace)); got != 1 {
		t.Errorf("%v records are counted", got)
	}
	r.settle()
	for _, object := range []client.Object{made, inside} {
		if r.there(object) {
			t.Errorf("%s is still there", object.GetName())
		}
	}
	if left := r.records(); len(left) != 0 {
		t.Errorf("the empty record is still there: %v", left)
	}
	if count, err := testutil.GatherAndCount(r.registry, "daytwo_orphans"); err != nil || count != 0 {
		t.Errorf("%d series are left, %v", count, err)
	}
	if told := <-r.recorder.Events; !strings.Contains(told, eventSwept) || !strings.Contains(told, "v1/ConfigMap/"+made.Name+"/settings") {
		t.Errorf("it is told as %q", told)
	}
}

func TestWhatMayNotGoStaysWithTheReason(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: "data"}, Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
	}}
	kept, marked, unlabelled, flux, intended := r.configMap("kept"), r.configMap("marked"), r.configMap("unlabelled"), r.configMap("flux"), r.configMap("intended")
	marked.Annotations = map[string]string{"helm.sh/resource-policy": "keep"}
	flux.Labels = map[string]string{"kustomize.toolkit.fluxcd.io/name": "apps", "kustomize.toolkit.fluxcd.io/namespace": "a"}
	left := []tenancyv1alpha1.OrphanObject{r.make(claim), r.make(kept), r.make(marked), r.make(unlabelled), r.make(flux), r.make(intended)}
	left[1].Keep, left[5].UID = true, ""
	delete(unlabelled.Labels, metav1alpha1.LabelManagedBy)
	r.must(shared.workload.Update(t.Context(), unlabelled))
	// Another one by its name, and one that no record names.
	older, customers := r.configMap("older"), r.configMap("customers")
	left = append(left, r.make(older))
	left[6].UID = "0b8fd3fb-3d5d-4bd1-a5d5-000000000000"
	r.make(customers)
	r.record(left...)
	r.settle(
		"ConfigMap flux: it belongs to Flux Kustomization a/apps",
		"ConfigMap intended: nobody knows its UID: remove it by hand",
		"ConfigMap kept",
		"ConfigMap marked: it is marked helm.sh/resource-policy: keep",
		"ConfigMap unlabelled: it does not carry the label daytwo.dev/managed-by of this installation any more",
		"PersistentVolumeClaim data",
	)
	for _, object := range []client.Object{claim, kept, marked, unlabelled, flux, intended, older, customers} {
		if !r.there(object) {
			t.Errorf("%s is gone", object.GetName())
		}
	}
}

// What an action made carries the label of that, and not the one of what is applied.
func TestWhatAnActionMadeIsRemoved(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	made, intended := r.configMap("made"), r.configMap("intended")
	left := []tenancyv1alpha1.OrphanObject{r.make(made), r.make(intended)}
	for _, one := range []*corev1.ConfigMap{made, intended} {
		delete(one.Labels, metav1alpha1.LabelManagedBy)
		one.Labels[metav1alpha1.LabelAction] = "a-run"
		r.must(shared.workload.Update(t.Context(), one))
	}
	left[1].UID = ""
	r.record(left...)
	r.settle("ConfigMap intended: nobody knows its UID: remove it by hand")
	if r.there(made) || !r.there(intended) {
		t.Errorf("the one with a UID is there: %t, the one without: %t", r.there(made), r.there(intended))
	}
}

func TestANamespaceThatHoldsAnythingStays(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	made := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: r.namespace + "-shared"}}
	left := r.make(made)
	customers := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: made.Name, Name: "theirs"}}
	r.must(shared.workload.Create(t.Context(), customers))
	r.record(left)
	r.settle("Namespace " + made.Name + ": it still holds ConfigMap " + made.Name + "/theirs")
	if !r.there(made) || !r.there(customers) {
		t.Error("it is gone")
	}
}

func TestWhatAReleaseHasAgainIsNoOrphan(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	again, soon := r.configMap("again"), r.configMap("soon")
	left := []tenancyv1alpha1.OrphanObject{r.make(again), r.make(soon)}
	// Under another name it is the same object still.
	r.release(metav1.ConditionTrue,
		metav1alpha1.InventoryEntry{ID: "example.com/v1/ConfigMap//alias", UID: left[0].UID},
		metav1alpha1.InventoryEntry{ID: left[1].ID})
	r.record(left...)
	if got := describe(r.reconcile()); !strings.HasPrefix(got, "ConfigMap soon: AddonRelease ") || strings.Contains(got, "\n") {
		t.Errorf("the records have %s", got)
	}
	if !r.there(again) || !r.there(soon) {
		t.Error("what a release has was removed")
	}
}

func TestAReleaseThatIsNotAppliedComesFirst(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	orphan := r.configMap("orphan")
	r.record(r.make(orphan))
	release := r.release(metav1.ConditionFalse)
	r.settle("ConfigMap orphan")
	r.expectSwept(tenancyv1alpha1.ReasonSweepWaiting, "TenantCluster "+r.key().String(), release.Name+" is not applied")
	r.applied(release, metav1.ConditionTrue)
	r.settle()
}

// Its rollout waits for a slot, say: what it left runs on until it is there.
func TestTheAddonThatLeftItComesFirst(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	addon := &addonsv1alpha1.SaaSAddon{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: "cache"},
		Spec: addonsv1alpha1.SaaSAddonSpec{
			PolicySpec: metav1alpha1.PolicySpec{ClusterNames: []string{tenantName}}, Namespace: "default",
			Source: addonsv1alpha1.AddonSource{Manifests: &addonsv1alpha1.ManifestSource{Inline: "{}"}},
		},
	}
	r.must(shared.management.Create(t.Context(), addon))
	orphan := r.configMap("orphan")
	r.record(r.make(orphan))
	r.settle("ConfigMap orphan")
	r.expectSwept(tenancyv1alpha1.ReasonSweepWaiting, r.namespace+"/cache selects TenantCluster "+r.key().String())
	addon.Spec.ClusterNames = []string{"another"}
	r.must(shared.management.Update(t.Context(), addon))
	r.settle()
}

// meddler changes something between the look at an object and its deletion.
type meddler struct {
	client.Reader
	meddle func()
}

func (m *meddler) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	m.meddle()
	return m.Reader.List(ctx, list, options...)
}

func TestWhoeverWritesAnObjectMeanwhileKeepsIt(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	contested := r.configMap("contested")
	r.record(r.make(contested))
	meddled := 0
	r.reconciler.Reader = &meddler{Reader: shared.management, meddle: func() {
		meddled++
		before := contested.DeepCopy()
		delete(contested.Labels, metav1alpha1.LabelManagedBy)
		r.must(shared.workload.Patch(t.Context(), contested, client.MergeFrom(before)))
	}}
	if got := describe(r.reconcile()); got != "ConfigMap contested: somebody changed it at the same moment" || meddled != 1 {
		t.Errorf("the records have %q, after %d changes", got, meddled)
	}
	r.reconciler.Reader = shared.management
	r.settle("ConfigMap contested: it does not carry the label daytwo.dev/managed-by of this installation any more")
	if !r.there(contested) {
		t.Error("it is gone")
	}
}

func TestAClusterThatIsSuspendedMeanwhileIsNotSwept(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	orphan := r.configMap("orphan")
	named := r.make(orphan)
	ref, err := objects.ParseID(named.ID)
	r.must(err)
	cached := r.tenant.DeepCopy()
	r.tenant.Spec.Suspend = true
	r.must(shared.management.Update(t.Context(), r.tenant))
	work := batch{site: site{tenant: cached, id: string(shared.identity)}, items: []item{{itemKey: itemKey{id: named.ID}, Ref: ref}}}
	for _, one := range r.reconciler.sweep(t.Context(), observation{now: time.Now()}, work) {
		if one.outcome != failed || one.sent {
			t.Errorf("it is %s", one.outcome)
		}
	}
	if !r.there(orphan) {
		t.Error("it is gone")
	}
}

// recordOf is the Secret of a Helm release's record.
func (r *rig) recordOf(release helm.Release, version, status, writer string) *corev1.Secret {
	labels := map[string]string{"owner": "helm", "name": release.Name, "version": version, "status": status}
	if writer != "" {
		labels[metav1alpha1.LabelManagedBy], labels[helm.LabelInputs] = writer, "abc.v"+version
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: release.Namespace, Name: "sh.helm.release.v1." + release.Name + ".v" + version, Labels: labels}}
	r.must(shared.workload.Create(r.Context(), secret))
	return secret
}

func (r *rig) chartObject(release helm.Release) *corev1.ConfigMap {
	object := r.configMap("of-a-chart")
	object.Labels = map[string]string{"app.kubernetes.io/managed-by": "Helm"}
	object.Annotations = map[string]string{"meta.helm.sh/release-name": release.Name, "meta.helm.sh/release-namespace": release.Namespace}
	return object
}

func TestAHelmReleaseGoesWithItsRecords(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	release := helm.Release{Namespace: r.namespace, Name: "valkey"}
	object := r.chartObject(release)
	first, latest := r.recordOf(release, "1", "superseded", installation), r.recordOf(release, "2", "deployed", installation)
	r.record(r.make(object), r.orphanOf(latest))
	r.settle()
	if r.there(object) || r.there(first) || r.there(latest) {
		t.Error("something of it is still there")
	}
}

func TestAHelmReleaseThatSomebodyWentOnWithStays(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	release := helm.Release{Namespace: r.namespace, Name: "valkey"}
	object := r.chartObject(release)
	first := r.recordOf(release, "1", "superseded", installation)
	second := r.recordOf(release, "2", "deployed", "")
	r.record(r.make(object), r.orphanOf(first))
	why := ": Helm release " + release.String() + " was changed by somebody else"
	r.settle("ConfigMap of-a-chart"+why, "Secret sh.helm.release.v1.valkey.v1"+why)
	if !r.there(object) || !r.there(first) || !r.there(second) {
		t.Error("something of it is gone")
	}
}

// Nobody but the manager writes a record; what an administrator or a restore brings is believed no more than that.
func TestARecordThatIsNotTrueHarmsNobody(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	system := &corev1.Namespace{}
	r.must(shared.workload.Get(t.Context(), client.ObjectKey{Name: metav1.NamespaceSystem}, system))
	theirs := r.configMap("theirs")
	r.must(shared.workload.Create(t.Context(), theirs))
	uid := string(system.UID)
	r.record(
		tenancyv1alpha1.OrphanObject{ID: "v1/Namespace//kube-system", UID: uid},
		tenancyv1alpha1.OrphanObject{ID: "v1/ConfigMap/../kube-system", UID: uid},
		tenancyv1alpha1.OrphanObject{ID: "v1/ConfigMap/a/..", UID: uid},
		tenancyv1alpha1.OrphanObject{ID: "../v1/Namespace//kube-system", UID: uid},
		tenancyv1alpha1.OrphanObject{ID: "v1/Namespace/" + r.namespace + "/kube-system", UID: uid},
		tenancyv1alpha1.OrphanObject{ID: "no id at all", UID: uid},
		tenancyv1alpha1.OrphanObject{ID: "v1/ConfigMap/" + r.namespace + "/theirs", UID: string(theirs.UID)},
	)
	for range 3 {
		r.reconcile()
	}
	if got := describe(r.records()); !strings.Contains(got, "ConfigMap theirs: it does not carry the label") {
		t.Errorf("the records have %s", got)
	}
	if !r.there(system) || !r.there(theirs) {
		t.Error("something that is not ours went")
	}
}

func TestALargeReleaseIsSweptInParts(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var left []tenancyv1alpha1.OrphanObject
	for i := range batchSize + 20 {
		left = append(left, r.make(r.configMap("part-"+string(rune('a'+i/26))+string(rune('a'+i%26)))))
	}
	r.record(left...)
	result, err := r.reconciler.Reconcile(t.Context(), requestFor(r.namespace))
	if err != nil || result.RequeueAfter == 0 || result.RequeueAfter > time.Second {
		t.Errorf("the rest is due in %s, %v", result.RequeueAfter, err)
	}
	r.settle()
}

func TestWritersOfARecordLoseNothingOfEachOther(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.record(tenancyv1alpha1.OrphanObject{ID: "v1/ConfigMap/a/swept"}, tenancyv1alpha1.OrphanObject{ID: "v1/ConfigMap/a/stays", Keep: true})
	key := client.ObjectKeyFromObject(&r.records()[0])
	var group errgroup.Group
	for _, name := range []string{"b", "c"} {
		group.Go(func() error {
			return r.reconciler.Orphans.Write(t.Context(), r.namespace, r.left(tenancyv1alpha1.OrphanObject{ID: "v1/ConfigMap/a/" + name, Keep: true}))
		})
	}
	group.Go(func() error {
		return r.reconciler.Orphans.Revise(t.Context(), key, func(record *tenancyv1alpha1.OrphanRecord) {
			record.Spec.Objects = slices.DeleteFunc(record.Spec.Objects, func(object tenancyv1alpha1.OrphanObject) bool {
				return object.ID == "v1/ConfigMap/a/swept"
			})
		})
	})
	r.must(group.Wait())
	if got := describe(r.records()); got != "ConfigMap b\nConfigMap c\nConfigMap stays" {
		t.Errorf("the records have %s", got)
	}
}

func TestARecordSaysThatItsClusterIsMissing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	left := r.left(r.make(r.configMap("orphan")))
	left.ClusterID = "0b8fd3fb-3d5d-4bd1-a5d5-000000000000"
	r.must(r.reconciler.Orphans.Write(t.Context(), r.namespace, left))
	r.settle("ConfigMap orphan")
	r.expectSwept(tenancyv1alpha1.ReasonSweepClusterMissing, "register the cluster again")
	version := r.records()[0].ResourceVersion
	if r.reconcile(); r.records()[0].ResourceVersion != version {
		t.Error("a record that says all there is to say is written again")
	}
}

func TestARecordOfWhatIsKeptSaysSo(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	kept := r.configMap("kept")
	object := r.make(kept)
	object.Keep = true
	r.record(object)
	r.settle("ConfigMap kept")
	r.expectSwept(tenancyv1alpha1.ReasonSweepObjectsKept, "delete this record")
	if !r.there(kept) || r.records()[0].Status.Objects != 1 {
		t.Errorf("it is gone, or not counted: %+v", r.records()[0].Status)
	}
}
