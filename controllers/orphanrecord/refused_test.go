package orphanrecord

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/orphans"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
)

// A manager whose role is wrong loses no record: whoever wanted it written tries again.
func TestARecordThatTheManagerMayNotWriteIsAnError(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	name := "manager-of-" + r.namespace
	user, err := shared.as(name)
	r.must(err)
	spec := r.left(tenancyv1alpha1.OrphanObject{ID: "_ConfigMap/" + r.namespace + "/left", UID: "uid"})
	r.refused(user, spec, "cannot create resource")

	r.allow(name, "get", "create", "update")
	r.refused(user, spec, "OrphanRecords are written by Daytwo")

	r.allow(name, "manage")
	expect.Eventually(t, "the record is written", func(ctx context.Context) error {
		if err := (orphans.Records{Reader: user, Writer: user}).Write(ctx, r.namespace, spec); err != nil {
			return err
		}
		if count := len(r.records()); count != 1 {
			return fmt.Errorf("there are %d records", count)
		}
		return nil
	})
}

// A customer's quota holds no deletion up.
func TestARecordThatAQuotaRefusesIsNoError(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	none := corev1.ResourceList{"count/orphanrecords.tenancy.daytwo.dev": resource.MustParse("0")}
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: "none"}, Spec: corev1.ResourceQuotaSpec{Hard: none}}
	r.must(shared.management.Create(t.Context(), quota))
	counted := client.MergeFrom(quota.DeepCopy()) // a quota controller may have counted already
	quota.Status = corev1.ResourceQuotaStatus{Hard: none, Used: none}
	r.must(shared.management.Status().Patch(t.Context(), quota, counted))
	spec := r.left(tenancyv1alpha1.OrphanObject{ID: "_ConfigMap/" + r.namespace + "/left", UID: "uid"})
	r.awaitForbidden(shared.management, spec, "exceeded quota")
	if err := r.reconciler.Orphans.Write(t.Context(), r.namespace, spec); err != nil {
		t.Errorf("the deletion would hang: %v", err)
	}
}

// allow lets a user use verbs on the OrphanRecords of all namespaces.
func (r *rig) allow(user string, verbs ...string) {
	r.Helper()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{GenerateName: "records-"}, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{tenancyv1alpha1.GroupVersion.Group}, Resources: []string{"orphanrecords"}, Verbs: verbs,
	}}}
	r.must(shared.management.Create(r.Context(), role))
	r.must(shared.management.Create(r.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "records-"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
	}))
}

// refused expects an error that tells why the API server forbids records to a user.
func (r *rig) refused(user client.Client, spec tenancyv1alpha1.OrphanRecordSpec, reason string) {
	r.Helper()
	r.awaitForbidden(user, spec, reason)
	err := orphans.Records{Reader: user, Writer: user}.Write(r.Context(), r.namespace, spec)
	if err == nil || !strings.Contains(err.Error(), reason) {
		r.Errorf("got %v, want an error with %q", err, reason)
	}
}

// awaitForbidden waits until an API server that was just told to forbid records does so.
func (r *rig) awaitForbidden(user client.Client, spec tenancyv1alpha1.OrphanRecordSpec, reason string) {
	r.Helper()
	expect.Eventually(r, "it is forbidden: "+reason, func(ctx context.Context) error {
		record := &tenancyv1alpha1.OrphanRecord{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, GenerateName: "probe-"}, Spec: spec}
		if err := user.Create(ctx, record, client.DryRunAll); err == nil || !strings.Contains(err.Error(), reason) {
			return fmt.Errorf("the answer is: %w", err)
		}
		return nil
	})
}
