package certificates

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
)

// reissues are ways in which cert-manager comes to issue another certificate.
var reissues = map[string]func(context.Context, *corev1.Secret) error{
	"the Secret is deleted": func(ctx context.Context, secret *corev1.Secret) error { return env.Admin.Delete(ctx, secret) },
	"it is renewed":         func(ctx context.Context, _ *corev1.Secret) error { return renew(ctx) },
}

// TestTheWebhooksServeWhatCertManagerIssues replaces the certificate of a manager that runs.
func TestTheWebhooksServeWhatCertManagerIssues(t *testing.T) {
	secret, err := awaitIssued(t.Context(), env.Admin, nil)
	must(t, err)
	awaitServed(t, secret)
	awaitRefused(t)
	pid := env.Manager.PID()
	for how, reissue := range reissues {
		t.Run(how, func(t *testing.T) {
			before, err := serialOf(secret)
			must(t, err)
			must(t, reissue(t.Context(), secret))
			secret, err = awaitIssued(t.Context(), env.Admin, before)
			must(t, err)

			must(t, inject(t.Context(), env.Fleet, secret))
			awaitUntrusted(t)
			must(t, mounted.replace(secret))
			awaitServed(t, secret)
			awaitRefused(t)
			if now := env.Manager.PID(); now != pid {
				t.Errorf("the manager was process %d, and is %d", pid, now)
			}
		})
	}
}

// renew asks cert-manager for another certificate before the time, as cmctl renew does.
func renew(ctx context.Context) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error { // cert-manager writes the same status
		wanted := &unstructured.Unstructured{}
		wanted.SetGroupVersionKind(schema.GroupVersionKind{Group: "cert-manager.io", Version: "v1", Kind: "Certificate"})
		if err := env.Admin.Get(ctx, client.ObjectKey{Namespace: namespace, Name: certificate}, wanted); err != nil {
			return err
		}
		conditions, _, err := unstructured.NestedSlice(wanted.Object, "status", "conditions")
		if err != nil {
			return err
		}
		conditions = append(conditions, map[string]any{
			"type": "Issuing", "status": "True", "reason": "ManuallyTriggered", "message": "renewed by a test",
			"lastTransitionTime": time.Now().UTC().Format(time.RFC3339),
		})
		if err := unstructured.SetNestedSlice(wanted.Object, conditions, "status", "conditions"); err != nil {
			return err
		}
		return env.Admin.Status().Update(ctx, wanted)
	})
}

// awaitServed waits until the manager serves the certificate of a Secret.
func awaitServed(t *testing.T, secret *corev1.Secret) {
	t.Helper()
	want, err := serialOf(secret)
	must(t, err)
	expect.Eventually(t, "the manager serves what was issued", func(ctx context.Context) error {
		leaf, err := served(ctx, secret.Data["ca.crt"])
		if err == nil && leaf.SerialNumber.Cmp(want) != 0 {
			err = fmt.Errorf("it serves %s, and %s was issued", leaf.SerialNumber, want)
		}
		return err
	})
}

// awaitRefused waits until a webhook refuses something: the API server verified who answered.
func awaitRefused(t *testing.T) {
	t.Helper()
	expect.Eventually(t, "a webhook refuses a bad window", func(ctx context.Context) error {
		err := askAboutABadWindow(ctx)
		if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "spec.maintenanceWindows[0].schedule") {
			return fmt.Errorf("it does not, but: %v", err)
		}
		return nil
	})
}

// awaitUntrusted waits until the API server does not believe the webhooks any more: it trusts an authority that did not sign
// what is served, and lets everything pass.
func awaitUntrusted(t *testing.T) {
	t.Helper()
	expect.Eventually(t, "what is served is not trusted", func(ctx context.Context) error {
		if err := askAboutABadWindow(ctx); err != nil {
			return errors.New("a webhook refuses a bad window")
		}
		return nil
	})
}

// askAboutABadWindow tries to create what only a webhook refuses.
func askAboutABadWindow(ctx context.Context) error {
	return env.Admin.Create(ctx, &tenancyv1alpha1.TenantCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "asked"},
		Spec: tenancyv1alpha1.TenantClusterSpec{
			KubeconfigRef:      &tenancyv1alpha1.KubeconfigReference{Name: "asked"},
			MaintenanceWindows: []metav1alpha1.RecurringWindow{{Schedule: "0 25 * * *", Duration: metav1.Duration{Duration: time.Hour}}},
		},
	}, client.DryRunAll)
}
