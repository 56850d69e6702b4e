package controllers

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/kubeconfig"
)

// renewalEnv has a cluster whose credentials are renewed, and a ServiceAccount for that.
type renewalEnv struct {
	*crashEnv
	// first and second are kubeconfigs of the cluster, with credentials of their own.
	first, second []byte
}

// TestKilledWhileCredentialsAreRenewedItEndsWhereAnUndisturbedRunEnds lets a cluster be registered with a ServiceAccount, its
// kubeconfig be replaced, and the renewal be ended and begun again, and kills the manager after one write of each.
func TestKilledWhileCredentialsAreRenewedItEndsWhereAnUndisturbedRunEnds(t *testing.T) {
	t.Parallel()
	w := newRenewalEnv(t)
	w.liveAll(t, sampledKills, w.describe, w.phases())
}

func newRenewalEnv(t *testing.T) *renewalEnv {
	t.Helper()
	w := &renewalEnv{crashEnv: newEmptyEnv(t)}
	w.first = w.workloadProxy.kubeconfig(t)
	w.second = bytes.ReplaceAll(w.first, []byte("anybody"), []byte("somebody-else"))
	if err := w.workload.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "daytwo"}}); err != nil {
		t.Fatal(err)
	}
	w.start()
	return w
}

func (w *renewalEnv) phases() []lifePhase {
	return []lifePhase{
		{"registration", w.registerRenewed, w.isNotRenewedFrom(w.first)},
		{"replacement", w.replace, w.isNotRenewedFrom(w.second)},
		{"end", w.endRenewal, w.isRenewed},
		{"beginning", w.beginRenewal, w.isNotRenewedFrom(w.second)},
		{"deletion", w.deregister, w.isRegistered},
	}
}

func (w *renewalEnv) registerRenewed(name string) {
	w.t.Helper()
	tenant := tenantCluster(name)
	tenant.Spec.KubeconfigRef = &tenancyv1alpha1.KubeconfigReference{Name: name + "-access", Renew: renewal()}
	access := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name + "-access"}, Data: map[string][]byte{"value": w.first}}
	for _, object := range []client.Object{access, tenant} {
		if err := w.management.Create(w.t.Context(), object); err != nil {
			w.t.Fatal(err)
		}
	}
}

func renewal() *tenancyv1alpha1.CredentialsRenewal {
	return &tenancyv1alpha1.CredentialsRenewal{ServiceAccount: tenancyv1alpha1.ServiceAccountReference{Namespace: "default", Name: "daytwo"}}
}

func (w *renewalEnv) replace(name string) {
	w.t.Helper()
	access := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name + "-access"}}
	changed := access.DeepCopy()
	changed.Data = map[string][]byte{"value": w.second}
	if err := w.management.Patch(w.t.Context(), changed, client.MergeFrom(access)); err != nil {
		w.t.Fatal(err)
	}
}

func (w *renewalEnv) endRenewal(name string) {
	w.t.Helper()
	w.patchTenant(name, `{"spec":{"kubeconfigRef":{"renew":null}}}`)
}

func (w *renewalEnv) beginRenewal(name string) {
	w.t.Helper()
	w.patchTenant(name, `{"spec":{"kubeconfigRef":{"renew":{"serviceAccount":{"namespace":"default","name":"daytwo"}}}}}`)
}

func (w *renewalEnv) patchTenant(name, patch string) {
	w.t.Helper()
	if err := w.management.Patch(w.t.Context(), tenantCluster(name), client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		w.t.Fatal(err)
	}
}

func (w *renewalEnv) deregister(name string) {
	w.t.Helper()
	if err := w.management.Delete(w.t.Context(), tenantCluster(name)); err != nil {
		w.t.Fatal(err)
	}
}

// isNotRenewedFrom says why no token is in use that was requested with a kubeconfig.
func (w *renewalEnv) isNotRenewedFrom(content []byte) func(name string) string {
	w.t.Helper()
	access, err := kubeconfig.Parse(content, kubeconfig.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	return func(name string) string {
		token, tenant := &corev1.Secret{}, tenantCluster(name)
		if err := w.management.Get(context.Background(), client.ObjectKey{Namespace: "default", Name: name + "-renewed-token"}, token); err != nil {
			return err.Error()
		}
		if string(token.Data["kubeconfig"]) != access.Fingerprint() {
			return "the token is of another kubeconfig"
		}
		if err := w.management.Get(context.Background(), client.ObjectKeyFromObject(tenant), tenant); err != nil {
			return err.Error()
		}
		renewed := meta.FindStatusCondition(tenant.Status.Conditions, tenancyv1alpha1.ConditionCredentialsRenewed)
		expires := tenant.Status.KubeconfigExpiresAt
		if renewed == nil || renewed.Status != metav1.ConditionTrue || renewed.ObservedGeneration != tenant.Generation || expires == nil ||
			expires.UTC().Format("2006-01-02T15:04:05Z") != string(token.Data["expiresAt"]) || w.isNotReady(tenant) {
			return fmt.Sprintf("no token is in use: %s, %+v", expires, tenant.Status.Conditions)
		}
		return ""
	}
}

func (w *renewalEnv) isNotReady(tenant *tenancyv1alpha1.TenantCluster) bool {
	ready := meta.FindStatusCondition(tenant.Status.Conditions, metav1alpha1.ConditionReady)
	return ready == nil || ready.Status != metav1.ConditionTrue || ready.ObservedGeneration != tenant.Generation
}

// isRenewed says what is left of a renewal that ended.
func (w *renewalEnv) isRenewed(name string) string {
	tenant := tenantCluster(name)
	if err := w.management.Get(context.Background(), client.ObjectKeyFromObject(tenant), tenant); err != nil {
		return err.Error()
	}
	if meta.FindStatusCondition(tenant.Status.Conditions, tenancyv1alpha1.ConditionCredentialsRenewed) != nil || w.isNotReady(tenant) {
		return fmt.Sprintf("the renewal goes on: %+v", tenant.Status.Conditions)
	}
	return w.tokenIsLeft(name)
}

// isRegistered says what is left of a cluster.
func (w *renewalEnv) isRegistered(name string) string {
	if err := w.management.Get(context.Background(), client.ObjectKey{Namespace: "default", Name: name}, tenantCluster(name)); !apierrors.IsNotFound(err) {
		return fmt.Sprintf("it is there: %v", err)
	}
	return w.tokenIsLeft(name)
}

func (w *renewalEnv) tokenIsLeft(name string) string {
	secret := &corev1.Secret{}
	if err := w.management.Get(context.Background(), client.ObjectKey{Namespace: "default", Name: name + "-renewed-token"}, secret); !apierrors.IsNotFound(err) {
		return fmt.Sprintf("the token is left, with finalizers %v: %v", secret.Finalizers, err)
	}
	return ""
}

// describe tells of all Secrets of a cluster, who owns and holds them, and of its conditions.
func (w *renewalEnv) describe(name string) string {
	var text bytes.Buffer
	secrets, tenant := &corev1.SecretList{}, tenantCluster(name)
	if err := w.management.List(context.Background(), secrets, client.InNamespace("default")); err != nil {
		return err.Error()
	}
	for _, secret := range secrets.Items {
		if secret.Name == name+"-access" || secret.Type == tenancyv1alpha1.SecretTypeRenewedToken {
			fmt.Fprintf(&text, "Secret %s of type %s, held by %v, with %d owners, labels %v\n", secret.Name, secret.Type, secret.Finalizers, len(secret.OwnerReferences), secret.Labels)
		}
	}
	if err := w.management.Get(context.Background(), client.ObjectKeyFromObject(tenant), tenant); err != nil {
		return text.String() + string(apierrors.ReasonForError(err))
	}
	var conditions []string
	for _, condition := range tenant.Status.Conditions {
		conditions = append(conditions, fmt.Sprintf("%s=%s (%s)", condition.Type, condition.Status, condition.Reason))
	}
	slices.Sort(conditions)
	return text.String() + strings.Join(conditions, "\n")
}
