package addonrelease

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/kubeconfig"
)

// orphansLeftBy returns what is recorded of a release.
func orphansLeftBy(t *testing.T, release string) []tenancyv1alpha1.OrphanRecordSpec {
	t.Helper()
	records := &tenancyv1alpha1.OrphanRecordList{}
	if err := shared.management.List(t.Context(), records, client.InNamespace("default")); err != nil {
		t.Fatal(err)
	}
	var left []tenancyv1alpha1.OrphanRecordSpec
	for _, record := range records.Items {
		if owner := record.Spec.Owner; owner.Group == addonsv1alpha1.GroupVersion.Group && owner.Kind == "AddonRelease" && owner.Namespace == "default" && owner.Name == release {
			left = append(left, record.Spec)
		}
	}
	return left
}

// overdue is a TenantCluster whose deletion was due an hour ago, since the cluster did not answer; one of its releases,
// which was deleted just now; and what that has in the second workload cluster. Nobody has tried to connect since
// the manager started.
type overdue struct {
	*testing.T
	rival client.Client
	// identity of that cluster.
	identity types.UID
	tenant   *tenancyv1alpha1.TenantCluster
	release  *addonsv1alpha1.AddonRelease
	object   *corev1.ConfigMap
}

func newOverdue(t *testing.T, name string) *overdue {
	t.Helper()
	rival, err := client.New(shared.rivalConfig, client.Options{})
	o := &overdue{
		T: t, rival: rival,
		tenant: &tenancyv1alpha1.TenantCluster{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Finalizers: []string{"example.com/test"}},
			Spec:       tenancyv1alpha1.TenantClusterSpec{KubeconfigRef: &tenancyv1alpha1.KubeconfigReference{Name: "access"}},
		},
		release: &addonsv1alpha1.AddonRelease{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "cache-" + name, Finalizers: []string{metav1alpha1.FinalizerTarget}},
			Spec:       addonsv1alpha1.AddonReleaseSpec{TargetSpec: metav1alpha1.TargetSpec{ClusterRef: metav1alpha1.ClusterReference{Namespace: "default", Name: name}, Revision: "r-0123456789"}},
		},
		object: &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{metav1alpha1.LabelManagedBy: installation}}},
	}
	o.must(err)
	system := &corev1.Namespace{}
	o.must(rival.Get(t.Context(), client.ObjectKey{Name: metav1.NamespaceSystem}, system))
	o.identity = system.UID
	o.must(rival.Create(t.Context(), o.object))
	o.must(shared.management.Create(t.Context(), o.tenant))
	t.Cleanup(o.cleanUp)
	o.must(shared.management.Delete(t.Context(), o.tenant))
	o.must(shared.management.Get(t.Context(), o.key(), o.tenant))
	now := metav1.Now()
	meta.SetStatusCondition(&o.tenant.Status.Conditions, metav1.Condition{
		Type: tenancyv1alpha1.ConditionConnected, Status: metav1.ConditionFalse, Reason: tenancyv1alpha1.ReasonUnreachable, Message: "no answer",
	})
	past := metav1.NewTime(now.Add(-time.Hour))
	o.tenant.Status.Deletion = &tenancyv1alpha1.Deletion{Step: tenancyv1alpha1.DeletionRemovingTargets, Since: now, Deadline: &past}
	o.must(shared.management.Status().Update(t.Context(), o.tenant))
	o.must(shared.management.Create(t.Context(), o.release))
	inventory := fmt.Sprintf(`{"status":{"clusterID":"%s","inventory":[{"id":"v1/ConfigMap/default/%s","uid":"%s","fp":"1"}],"drift":{"count":0}}}`,
		o.identity, name, o.object.UID)
	o.must(shared.management.Status().Patch(t.Context(), o.release, client.RawPatch(types.MergePatchType, []byte(inventory))))
	o.must(shared.management.Delete(t.Context(), o.release))
	return o
}

func (o *overdue) must(err error) {
	o.Helper()
	if err != nil {
		o.Fatal(err)
	}
}

func (o *overdue) key() types.NamespacedName { return client.ObjectKeyFromObject(o.tenant) }

func (o *overdue) cleanUp() {
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	shared.connections.Forget(o.key())
	for _, object := range []client.Object{o.tenant, o.release} {
		free := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
		if err := client.IgnoreNotFound(shared.management.Patch(ctx, object, free)); err != nil {
			o.Error(err)
		}
	}
	if err := client.IgnoreNotFound(o.rival.Delete(ctx, o.object)); err != nil {
		o.Error(err)
	}
}

// connect starts what the TenantCluster controller starts, with the access to an API server.
func (o *overdue) connect(edit func([]byte) []byte) {
	o.Helper()
	cluster, err := shared.fleet.Cluster("workload-2")
	o.must(err)
	access, err := kubeconfig.Parse(edit(cluster.Kubeconfig()), kubeconfig.Options{})
	o.must(err)
	shared.connections.Connect(o.key(), access)
	o.must(shared.connections.Admit(o.key(), o.identity))
}

// reconcileDeleted makes sure that the release was looked at as a deleted one.
func (o *overdue) reconcileDeleted() {
	o.Helper()
	key := client.ObjectKeyFromObject(o.release)
	eventually(o.T, "the cache shows the deletion", func() (bool, string) {
		seen := &addonsv1alpha1.AddonRelease{}
		err := shared.reconciler.Room.Client.Get(o.Context(), key, seen)
		return apierrors.IsNotFound(err) || err == nil && seen.DeletionTimestamp != nil, fmt.Sprint(err)
	})
	_, err := shared.reconciler.Room.Reconcile(o.Context(), ctrl.Request{NamespacedName: key})
	o.must(err)
}

func (o *overdue) waitReleased() {
	o.Helper()
	eventually(o.T, "the release is gone", func() (bool, string) {
		err := shared.management.Get(o.Context(), client.ObjectKeyFromObject(o.release), o.release)
		return apierrors.IsNotFound(err), fmt.Sprint(err, describeConditions(o.release))
	})
}

// The manager was down when the deletion was due, and the cluster is back.
func TestAClusterThatIsBackIsCleanedUpThoughTheDeletionIsOverdue(t *testing.T) {
	o := newOverdue(t, "returned")
	o.reconcileDeleted()
	o.must(shared.management.Get(t.Context(), client.ObjectKeyFromObject(o.release), o.release))
	o.connect(bytes.Clone)
	o.waitReleased()
	if err := o.rival.Get(t.Context(), client.ObjectKeyFromObject(o.object), o.object); !apierrors.IsNotFound(err) {
		t.Errorf("what the release has is there still: %v", err)
	}
	if left := orphansLeftBy(t, o.release.Name); len(left) > 0 {
		t.Errorf("the records say %+v", left)
	}
}

// The TenantCluster says what it said before: what wakes the release is that the first try failed.
func TestAClusterThatIsStillSilentIsGivenUpWhenTheFirstTryFailed(t *testing.T) {
	o := newOverdue(t, "silent")
	o.reconcileDeleted()
	o.connect(func(access []byte) []byte {
		return bytes.ReplaceAll(access, []byte(shared.rivalConfig.Host), []byte("https://127.0.0.1:1"))
	})
	o.waitReleased()
	left := orphansLeftBy(t, o.release.Name)
	if len(left) != 1 || len(left[0].Objects) != 1 || left[0].Objects[0].UID != string(o.object.UID) {
		t.Errorf("the records say %+v", left)
	}
}

func TestTheClusterBeforeTheAcceptedOneIsRecorded(t *testing.T) {
	t.Parallel()
	a := newAddon(t, fmt.Sprintf(oneConfigMap, "moved"))
	uid := a.waitReady().UID
	before := client.RawPatch(types.MergePatchType, []byte(`{"status":{"clusterID":"the-one-before"}}`))
	if err := shared.management.Status().Patch(t.Context(), a.get(), before); err != nil {
		t.Fatal(err)
	}
	a.change(func(release *addonsv1alpha1.AddonRelease) {
		release.Annotations = map[string]string{metav1alpha1.AnnotationRequestedAt: "now"}
	})
	eventually(t, "the release is in the accepted cluster", func() (bool, string) {
		release := a.get()
		return release.Status.ClusterID != "the-one-before" && release.UID == uid, release.Status.ClusterID
	})
	left := orphansLeftBy(t, a.name)
	if len(left) != 1 || left[0].ClusterID != "the-one-before" || !slices.ContainsFunc(left[0].Objects, func(object tenancyv1alpha1.OrphanObject) bool {
		return object.ID == "v1/ConfigMap/"+a.namespace+"/moved"
	}) {
		t.Errorf("the records say %+v", left)
	}
	a.waitReady()
}
