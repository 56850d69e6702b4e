package controllers

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
)

// isNotRunning says why a cluster does not run as ordered, with its add-on as declared.
func (w *orderEnv) isNotRunning(name string) string {
	ctx := context.Background()
	tenant, addon := tenantCluster(name), &addonsv1alpha1.SaaSAddon{}
	key := client.ObjectKeyFromObject(tenant)
	for _, object := range []client.Object{tenant, addon} {
		if err := w.management.Get(ctx, key, object); err != nil {
			return err.Error()
		}
	}
	status := tenant.Status
	if status.ObservedGeneration != tenant.Generation || status.OrderedVersion != tenant.Spec.Topology.Version || status.Upgrade != nil ||
		!meta.IsStatusConditionTrue(status.Conditions, metav1alpha1.ConditionReady) {
		return fmt.Sprintf("the cluster does not run: ordered %s, upgrade %v, %+v", status.OrderedVersion, status.Upgrade, status.Conditions)
	}
	if ready := meta.FindStatusCondition(addon.Status.Conditions, metav1alpha1.ConditionReady); ready == nil || ready.Status != metav1.ConditionTrue {
		return fmt.Sprintf("the add-on is not Ready: %+v", addon.Status.Conditions)
	}
	target, err := w.provider.target(ctx, name)
	if err != nil {
		return err.Error()
	}
	if isPaused(target) || meta.IsStatusConditionTrue(target.Status.Conditions, metav1alpha1.ConditionDrifted) {
		return fmt.Sprintf("the target still pauses: %+v", target.Status.Conditions)
	}
	return ""
}

// isNotGone says what is left of a cluster and what was in it.
func (w *orderEnv) isNotGone(name string) string {
	key := client.ObjectKey{Namespace: "default", Name: name}
	for object, key := range map[client.Object]client.ObjectKey{
		tenantCluster(name): key, &clusterv1.Cluster{}: {Namespace: clusterNamespace, Name: name},
		&corev1.Secret{}: {Namespace: clusterNamespace, Name: name + "-kubeconfig"}, &corev1.Secret{}: {Namespace: key.Namespace, Name: name + "-access"},
	} {
		if err := w.management.Get(context.Background(), key, object); !apierrors.IsNotFound(err) {
			return fmt.Sprintf("%T is there, with finalizers %v, %v", object, object.GetFinalizers(), err)
		}
	}
	// A watch may be behind.
	for _, seen := range []*witness{w.tenants, w.clusters, w.targets} {
		for _, line := range append(seen.testimony("default", name), seen.testimony(clusterNamespace, name)...) {
			if !strings.HasSuffix(line, ended) {
				return "no watch showed yet that this one is gone: " + line
			}
		}
	}
	return ""
}

func (w *orderEnv) addonIsNotGone(name string) string {
	addon := &addonsv1alpha1.SaaSAddon{}
	if err := w.management.Get(context.Background(), client.ObjectKey{Namespace: "default", Name: name}, addon); !apierrors.IsNotFound(err) {
		return fmt.Sprintf("SaaSAddon %s is there: %v, %+v", name, err, addon.Status.Conditions)
	}
	return ""
}

// describe is everything that there is of a cluster, and everything that ever happened to it.
func (w *orderEnv) describe(name string) string {
	w.t.Helper()
	var text []string
	for _, complaint := range w.provider.complaintsAbout(name) {
		text = append(text, wrong+complaint)
	}
	for kind, seen := range []*witness{w.tenants, w.clusters, w.targets} {
		for _, line := range append(seen.testimony("default", name), seen.testimony(clusterNamespace, name)...) {
			_, happened, _ := strings.Cut(strings.ReplaceAll(line, w.identity, "ID"), " was ")
			text = append(text, []string{"TenantCluster", "Cluster", "AddonRelease"}[kind]+" was "+happened)
		}
	}
	text = append(text, w.describeDeletion(name)...)
	text = append(text, w.describeTenant(name)...)
	text = append(text, w.describeContent(name)...)
	left := &tenancyv1alpha1.OrphanRecordList{}
	if err := w.management.List(w.t.Context(), left); err != nil || len(left.Items) > 0 {
		text = append(text, fmt.Sprintf(wrong+"something is said to remain: %v, %v", left.Items, err))
	}
	return strings.Join(text, "\n")
}

// describeDeletion tells of a step that came again. Which of them show depends on when the manager is killed.
func (w *orderEnv) describeDeletion(name string) []string {
	var text []string
	for _, line := range w.steps.testimony("default", name) {
		last := 0
		for _, one := range strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == ',' }) {
			at := slices.Index(deletionSteps, tenancyv1alpha1.DeletionStep(one))
			if at >= 0 && at < last {
				text = append(text, wrong+"its deletion went back: it "+line)
			}
			last = max(last, at)
		}
	}
	return text
}

var deletionSteps = []tenancyv1alpha1.DeletionStep{
	tenancyv1alpha1.DeletionStoppingDrills, tenancyv1alpha1.DeletionFinalBackup, tenancyv1alpha1.DeletionRemovingTargets,
	tenancyv1alpha1.DeletionRemovingCluster, tenancyv1alpha1.DeletionReleasing,
}

func (w *orderEnv) describeTenant(name string) []string {
	w.t.Helper()
	tenant, secret := tenantCluster(name), &corev1.Secret{}
	err := w.management.Get(w.t.Context(), client.ObjectKeyFromObject(tenant), tenant)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err == nil {
		err = w.management.Get(w.t.Context(), client.ObjectKey{Namespace: clusterNamespace, Name: name + "-kubeconfig"}, secret)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	provided := &corev1.Secret{}
	if err := w.management.Get(w.t.Context(), client.ObjectKey{Namespace: "default", Name: name + "-access"}, provided); err != nil {
		w.t.Fatal(err)
	}
	text := []string{
		fmt.Sprintf("the customer's kubeconfig is %s", provided.Type),
		fmt.Sprintf("phase %s, ordered %s", tenant.Status.Phase, tenant.Status.OrderedVersion),
		fmt.Sprintf("identity on record %v, as label %v", tenant.Status.ClusterID == w.identity, tenant.Labels[metav1alpha1.LabelClusterID] == w.identity),
		fmt.Sprintf("finalizers %v, of the Secret %v", tenant.Finalizers, secret.Finalizers),
	}
	for _, condition := range tenant.Status.Conditions {
		text = append(text, fmt.Sprintf("%s=%s/%s", condition.Type, condition.Status, condition.Reason))
	}
	slices.Sort(text)
	return text
}

// describeContent is what is in the cluster, and what is known of that.
func (w *orderEnv) describeContent(name string) []string {
	w.t.Helper()
	var text []string
	settings, balancer := &corev1.ConfigMap{}, &corev1.Service{}
	if err := w.workload.Get(w.t.Context(), settingsOf(name), settings); err == nil {
		text = append(text, "settings "+settings.Data["value"])
	}
	if err := w.workload.Get(w.t.Context(), client.ObjectKey{Namespace: "default", Name: name + "-web"}, balancer); err == nil {
		text = append(text, "a load balancer")
	}
	target, err := w.provider.target(w.t.Context(), name)
	if err != nil {
		return append(text, err.Error())
	}
	for _, entry := range target.Status.Inventory {
		text = append(text, "inventory "+entry.ID)
		if entry.UID == "" {
			text = append(text, wrong+"it is only intended")
		}
	}
	return text
}
