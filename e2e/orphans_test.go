package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
)

const settingsAndData = `apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}`

// Nobody answers, and nobody abandons anything: the deletion goes on in time, what is left is told, and swept when
// the cluster is back.
func TestADeadImportedClusterDoesNotHoldItsDeletionUpAndIsSweptWhenItIsBack(t *testing.T) {
	t.Parallel()
	c := newCustomer(t, 0, 1)
	cluster := c.clusters.bare[0]
	t.Cleanup(func() { tidyUp(c, cluster) })
	addon := c.newAddon("cache", settingsAndData)
	must(t, env.Admin.Create(t.Context(), addon))
	c.awaitReleaseCondition(addon, cluster, metav1alpha1.ConditionApplied, metav1.ConditionTrue, "")
	settings, data, copied := inDefault(&corev1.ConfigMap{}, "settings"), inDefault(&corev1.PersistentVolumeClaim{}, "data"), inDefault(&corev1.ConfigMap{}, "copied")
	workload := c.workload(cluster)
	must(t, workload.Get(t.Context(), client.ObjectKeyFromObject(settings), settings))
	copied.SetLabels(settings.GetLabels())
	must(t, workload.Create(t.Context(), copied))

	must(t, fleetCluster(t, cluster).Stop(t.Context()))
	c.awaitCluster(cluster, tenancyv1alpha1.ConditionConnected, metav1.ConditionFalse, tenancyv1alpha1.ReasonUnreachable)
	c.releaseConnection(cluster, 10*time.Second)
	if records, err := c.orphans(t.Context()); err != nil || says(records, "v1/ConfigMap/default/settings", string(settings.GetUID()), "v1/PersistentVolumeClaim/default/data") != nil {
		t.Errorf("no record tells what is left: %s, %v", records, err)
	}
	expect.Eventually(t, "a metric counts the record", func(context.Context) error {
		if series := matching(t, "daytwo_orphans", map[string]string{"namespace": c.namespace}); len(series) != 1 || series[0].value != 1 {
			return fmt.Errorf("it has %v", series)
		}
		return nil
	})
	c.awaitEvent("Abandoned", "ConfigMap default/settings", cluster)
	c.awaitEvent("TargetAbandoned", cluster)
	expect.Eventually(t, "the add-on's status tells of it", func(ctx context.Context) error {
		err := env.Admin.Get(ctx, client.ObjectKeyFromObject(addon), addon)
		if err == nil && (len(addon.Status.Abandoned) != 1 || addon.Status.Abandoned[0].Objects.Count != 2) {
			err = fmt.Errorf("it tells %+v", addon.Status.Abandoned)
		}
		return err
	})

	must(t, fleetCluster(t, cluster).Start(t.Context()))
	must(t, env.Register(t.Context(), c.namespace, cluster, nil))
	waitGone(t, workload, settings)
	expect.Eventually(t, "the record has only what stays", func(ctx context.Context) error {
		records, err := c.orphans(ctx)
		if err == nil && (strings.Contains(records, "settings") || says(records, "v1/PersistentVolumeClaim/default/data", tenancyv1alpha1.ReasonSweepObjectsKept) != nil) {
			err = errors.New(records)
		}
		return err
	})
	c.awaitEvent("OrphansSwept", "v1/ConfigMap/default/settings")
	for _, stays := range []client.Object{data, copied} {
		must(t, workload.Get(t.Context(), client.ObjectKeyFromObject(stays), stays))
		if stays.GetDeletionTimestamp() != nil {
			t.Errorf("%s is being deleted", stays.GetName())
		}
	}
}

// releaseConnection deletes a TenantCluster, with its Secret, and waits until it is gone. The timeout is how long that may take.
func (c *customer) releaseConnection(cluster string, timeout time.Duration) {
	c.Helper()
	key := client.ObjectKey{Namespace: c.namespace, Name: cluster}
	tenant := &tenancyv1alpha1.TenantCluster{}
	must(c, env.Admin.Get(c.Context(), key, tenant))
	before := tenant.DeepCopy()
	tenant.Spec.Deletion.Timeout = &metav1.Duration{Duration: timeout}
	must(c, env.Admin.Patch(c.Context(), tenant, client.MergeFrom(before)))
	must(c, env.Remove(c.Context(), key))
	waitGone(c, env.Admin, tenant)
	waitGone(c, env.Admin, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: cluster + "-kubeconfig"}})
}

// orphans is the text of all OrphanRecords.
func (c *customer) orphans(ctx context.Context) (string, error) {
	records := &tenancyv1alpha1.OrphanRecordList{}
	err := env.Admin.List(ctx, records, client.InNamespace(c.namespace))
	text := ""
	for _, record := range records.Items {
		text += fmt.Sprintf("%+v %+v\n", record.Spec, record.Status)
	}
	return text, err
}

func inDefault(object client.Object, name string) client.Object {
	object.SetNamespace("default")
	object.SetName(name)
	return object
}

// tidyUp takes away what stays in a cluster that other tests use too. Nobody there takes finalizers away.
func tidyUp(c *customer, cluster string) {
	ctx := context.Background()
	must(c, fleetCluster(c, cluster).Start(ctx))
	workload := c.workload(cluster)
	for _, left := range []client.Object{inDefault(&corev1.ConfigMap{}, "settings"), inDefault(&corev1.ConfigMap{}, "copied"), inDefault(&corev1.PersistentVolumeClaim{}, "data")} {
		must(c, client.IgnoreNotFound(workload.Delete(ctx, left)))
		without := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
		must(c, client.IgnoreNotFound(workload.Patch(ctx, left, without)))
	}
}
