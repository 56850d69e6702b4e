package backup

import (
	"context"
	"fmt"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
)

// ofTheCluster is what a cluster runs beside the shop that belongs to no namespace.
const ofTheCluster = `
---
kind: ClusterRole
apiVersion: rbac.authorization.k8s.io/v1
metadata: {name: shop-reader}
rules: [{apiGroups: [""], resources: [configmaps], verbs: [get]}]
---
kind: PriorityClass
apiVersion: scheduling.k8s.io/v1
metadata: {name: shop}
value: 1000
`

// TestARecoveryIsForReal rehearses in a standby while the cluster that was backed up does not answer, and then recovers there.
func TestARecoveryIsForReal(t *testing.T) {
	t.Parallel()
	c := newCustomer(t, "workload-9", "workload-10")
	policy := c.backedUp("workload-9", shop+strings.TrimSuffix(ofTheCluster, "\n"))
	c.setPassword("repository", firstPassword)
	c.patchPolicy(policy, `{"spec":{"storage":{"repositoryPasswordRef":{"secretName":"repository"}}}}`)
	c.awaitPassword("workload-9", firstPassword)
	c.awaitReady(policy)
	lost, err := env.Fleet.Cluster("workload-9")
	must(t, err)
	must(t, lost.Pause())
	t.Cleanup(func() { _ = lost.Resume() }) // It is no error if it runs already.

	standby := backupv1alpha1.DrillTarget{Mode: backupv1alpha1.DrillStandby, StandbyName: "workload-10"}
	rehearsal := c.drill(policy, "workload-9", standby)
	c.awaitVerdict(rehearsal, backupv1alpha1.DrillPassed)
	c.awaitNothingLeft(rehearsal, "workload-10")
	if told := rehearsal.Status.Task("set-repository-password"); told == nil || !strings.Contains(told.Message, "name that one in a BackupPolicy") {
		t.Errorf("a standby without the password is not told of: %+v", told)
	}
	c.removeDrill(rehearsal)
	c.awaitCondition(policy, "workload-9", backupv1alpha1.ConditionBackupsHealthy, metav1.ConditionUnknown, backupv1alpha1.ReasonBackupsNotSeen)
	c.awaitCondition(policy, "workload-9", backupv1alpha1.ConditionRecoveryProven, metav1.ConditionTrue, backupv1alpha1.ReasonDrillPassed)

	recovery := c.newDrill(policy, "workload-9", standby)
	recovery.Name = "recovery"
	recovery.Spec.Mode, recovery.Spec.Confirm, recovery.Spec.RequestedBy = backupv1alpha1.ModeRecover, "workload-9", c.whoAmI()
	must(t, env.Admin.Create(t.Context(), recovery))
	c.awaitVerdict(recovery, backupv1alpha1.DrillPassed)
	if len(recovery.Status.LeftOut) > 0 {
		t.Errorf("left out are %v", recovery.Status.LeftOut)
	}
	c.awaitNothingLeft(recovery, "workload-10")
	c.awaitPassword("workload-10", firstPassword)
	c.expectNoPassword(firstPassword)
	c.verifyRecovered("workload-10")
	document := &corev1.ConfigMap{}
	must(t, env.Admin.Get(t.Context(), client.ObjectKey{Namespace: c.namespace, Name: recovery.Status.Evidence.ConfigMapName}, document))
	for _, want := range []string{`"mode": "Recover"`, fmt.Sprintf(`"requestedBy": %q`, recovery.Spec.RequestedBy)} {
		if !strings.Contains(document.Data["evidence.json"], want) {
			t.Errorf("the evidence lacks %s", want)
		}
	}
	c.removeDrill(recovery)
	c.verifyRecovered("workload-10")
	c.takePlaceOf("workload-9", "workload-10", policy)
	c.verifyRecovered("workload-10")
	must(t, lost.Resume())
	c.remove(policy)
}

// takePlaceOf points the TenantCluster of a lost cluster at the one into which it was recovered, whose own TenantCluster is
// deleted before, and waits until the lost cluster's policies follow.
func (c *customer) takePlaceOf(lost, recovered string, policy *backupv1alpha1.BackupPolicy) {
	c.t.Helper()
	tenant := &tenancyv1alpha1.TenantCluster{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: recovered}}
	must(c.t, env.Admin.Get(c.t.Context(), client.ObjectKeyFromObject(tenant), tenant))
	id := tenant.Status.ClusterID
	must(c.t, env.Remove(c.t.Context(), client.ObjectKeyFromObject(tenant)))
	c.awaitGone(tenant)
	successor, err := env.Fleet.Cluster(recovered)
	must(c.t, err)
	tenant = &tenancyv1alpha1.TenantCluster{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: lost}}
	before := c.enrollment(c.t.Context(), policy, lost).Status.Velero.Prefix
	c.annotate(tenant, metav1alpha1.AnnotationAcceptClusterID, id)
	must(c.t, env.Lead(c.t.Context(), client.ObjectKeyFromObject(tenant), successor.Kubeconfig()))
	expect.Eventually(c.t, "backups go on in the cluster that was recovered", func(ctx context.Context) error {
		if err := env.Admin.Get(ctx, client.ObjectKeyFromObject(tenant), tenant); err != nil {
			return err
		}
		velero, conditions := c.enrollment(ctx, policy, lost).Status.Velero, c.enrollment(ctx, policy, lost).Status.Conditions
		if tenant.Status.ClusterID != id || velero == nil || velero.Prefix == before || !strings.HasSuffix(velero.Prefix, id) {
			return fmt.Errorf("TenantCluster %s leads to %s, its backups go to %+v: %s", lost, tenant.Status.ClusterID, velero, expect.Describe(tenant.Status.Conditions))
		}
		return expect.Condition(conditions, backupv1alpha1.ConditionStorageAvailable, metav1.ConditionTrue, "")
	})
}

// whoAmI is how the API server knows who runs the tests.
func (c *customer) whoAmI() string {
	c.t.Helper()
	direct, err := kubernetes.NewForConfig(env.Fleet.Management().Config())
	must(c.t, err)
	review, err := direct.AuthenticationV1().SelfSubjectReviews().Create(c.t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	must(c.t, err)
	return review.Status.UserInfo.Username
}

// verifyRecovered looks for what a rehearsal leaves out or changes, and for what belongs to nobody any more.
func (c *customer) verifyRecovered(cluster string) {
	c.t.Helper()
	workload := c.workload(cluster)
	get := func(object client.Object, namespace, name string) {
		c.t.Helper()
		if err := workload.Get(c.t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, object); err != nil {
			c.t.Error(err)
		}
	}
	get(&rbacv1.ClusterRole{}, "", "shop-reader")
	get(&networkingv1.Ingress{}, "shop", "web")
	get(&networkingv1.NetworkPolicy{}, "shop", "allow-all")
	service, job, settings, namespace := &corev1.Service{}, &batchv1.CronJob{}, &corev1.ConfigMap{}, &corev1.Namespace{}
	get(service, "shop", "web")
	get(job, "shop", "report")
	get(settings, "shop", "settings")
	get(namespace, "", "shop")
	if service.Spec.Type != corev1.ServiceTypeLoadBalancer || job.Spec.Suspend != nil && *job.Spec.Suspend {
		c.t.Errorf("the Service is of type %s, the CronJob suspended: %v", service.Spec.Type, job.Spec.Suspend)
	}
	if _, owned := settings.Labels[metav1alpha1.LabelManagedBy]; owned || settings.Data["colour"] != "blue" {
		c.t.Errorf("the ConfigMap is %v %v", settings.Labels, settings.Data)
	}
	if _, excluded := namespace.Labels["velero.io/exclude-from-backup"]; excluded {
		c.t.Errorf("the namespace would not be backed up: %v", namespace.Labels)
	}
	quotas := &corev1.ResourceQuotaList{}
	must(c.t, workload.List(c.t.Context(), quotas, client.InNamespace("shop")))
	if len(quotas.Items) > 0 {
		c.t.Errorf("the namespace has a quota: %v", quotas.Items)
	}
}
