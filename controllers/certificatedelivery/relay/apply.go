package relay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/truncate"
)

// apply carries a plan out. A cluster that refuses an answer is told in the returned plan, and gets no other one this time.
func (r *Reconciler) apply(ctx context.Context, o observation, p plan, known *remembered, cluster *fleet.Cluster) (plan, error) {
	if err := r.ask(ctx, o, p, known); err != nil {
		return p, err
	}
	for _, one := range p.answers {
		err := write(ctx, cluster, one, o.now)
		switch {
		case err == nil:
		case apierrors.IsForbidden(err):
			p.state.Status, p.state.Reason, p.state.Failed = metav1.ConditionFalse, metav1alpha1.ReasonRefused, true
			p.state.Message = truncate.Cut(fmt.Sprintf("the cluster refuses the answer to CertificateSigningRequest %s: %s; give the user of the kubeconfig the rights that mode Relay needs",
				one.name, err), maxMessage)
			p.again = o.now.Add(lookAgain)
			return p, nil
		case apierrors.IsNotFound(err):
		case apierrors.IsInvalid(err), apierrors.IsConflict(err), apierrors.IsBadRequest(err):
			// Somebody else wrote the request meanwhile, which the watch shows.
			p.again = o.now.Add(lookAgain)
		default:
			return p, fmt.Errorf("answer CertificateSigningRequest %s: %w", one.name, err)
		}
	}
	return p, nil
}

// ask makes and removes CertificateRequests.
func (r *Reconciler) ask(ctx context.Context, o observation, p plan, known *remembered) error {
	for _, desired := range p.create {
		err := r.Client.Create(ctx, desired)
		if err != nil && !apierrors.IsAlreadyExists(err) { // The cache is behind.
			return fmt.Errorf("create CertificateRequest %s/%s: %w", desired.GetNamespace(), desired.GetName(), err)
		}
		known.asked[desired.GetName()] = o.now
	}
	var errs []error
	for _, name := range p.remove {
		one := o.made[name]
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(certificateRequestKind)
		object.SetNamespace(o.namespace)
		object.SetName(name)
		if err := client.IgnoreNotFound(r.Client.Delete(ctx, object, client.Preconditions{UID: &one.uid})); err != nil {
			errs = append(errs, fmt.Errorf("delete CertificateRequest %s/%s: %w", o.namespace, name, err))
		}
	}
	return errors.Join(errs...)
}

// write writes an answer, to the request as it was looked at: nobody else may have written it since.
func write(ctx context.Context, cluster *fleet.Cluster, one answer, now time.Time) error {
	operations := []map[string]any{{"op": "test", "path": "/metadata/resourceVersion", "value": one.version}}
	subresource := "status"
	if one.condition == "" {
		operations = append(operations, map[string]any{"op": "add", "path": "/status/certificate", "value": one.certificate})
	} else {
		operations = append(operations, one.conditionPatch(now))
		if one.condition != certificatesv1.CertificateFailed {
			subresource = "approval"
		}
	}
	patch, err := json.Marshal(operations)
	if err != nil {
		return err
	}
	_, err = cluster.PatchSubresource(ctx, objects.Ref{GroupVersionKind: requestKind, Name: one.name}, one.uid, subresource, patch)
	return err
}

// conditionPatch adds a condition to those that are there.
func (a answer) conditionPatch(now time.Time) map[string]any {
	at := metav1.NewTime(now).Rfc3339Copy()
	condition := certificatesv1.CertificateSigningRequestCondition{
		Type: a.condition, Status: "True", Reason: a.reason, Message: a.message, LastUpdateTime: at, LastTransitionTime: at,
	}
	if a.conditions {
		return map[string]any{"op": "add", "path": "/status/conditions/-", "value": condition}
	}
	return map[string]any{"op": "add", "path": "/status/conditions", "value": []any{condition}}
}
