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
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

// isNotDelivered says why a cluster has not the newest certificate of a bundle, with further names, and so many anchors, or why
// anything is still on its way.
func (w *bundleEnv) isNotDelivered(clusters []string, anchors int, names ...string) func(name string) string {
	return func(name string) string {
		if why := w.isNotSettled(name, clusters, anchors); why != "" {
			return why
		}
		certificates, err := w.certificatesOf(name)
		if err != nil || len(certificates) != len(clusters) {
			return fmt.Sprintf("there are %d Certificates: %v", len(certificates), err)
		}
		issuances, err := w.issuancesOf(name)
		if err != nil || len(issuances) != len(clusters) {
			return fmt.Sprintf("there are %d issuances: %v", len(issuances), err)
		}
		for i := range certificates {
			if why := w.isNotTaken(&certificates[i], issuances, names); why != "" {
				return fmt.Sprintf("Certificate %s: %s", certificates[i].GetName(), why)
			}
		}
		return ""
	}
}

// isNotDistributed is isNotDelivered for a bundle without certificates.
func (w *bundleEnv) isNotDistributed(anchors int) func(name string) string {
	return func(name string) string { return w.isNotSettled(name, bundleClusters, anchors) }
}

// isNotSettled says why a bundle does not say that everything is in its clusters, as it is asked for now.
func (w *bundleEnv) isNotSettled(name string, clusters []string, anchors int) string {
	bundle := &certificatesv1alpha1.CertificateBundle{}
	if err := w.management.Get(context.Background(), client.ObjectKey{Namespace: "default", Name: name}, bundle); err != nil {
		return err.Error()
	}
	status := bundle.Status
	if status.ObservedGeneration != bundle.Generation || status.Anchors == nil || int(status.Anchors.Count) != anchors {
		return fmt.Sprintf("generation %d is told of, not %d, with anchors %+v", status.ObservedGeneration, bundle.Generation, status.Anchors)
	}
	if why := isNotReadyNow(status.Conditions, bundle.Generation); why != "" {
		return "the bundle " + why
	}
	deliveries, err := w.deliveriesOf(name)
	if err != nil || len(deliveries) != len(clusters) {
		return fmt.Sprintf("there are %d deliveries: %v", len(deliveries), err)
	}
	for i := range deliveries {
		if why := isNotAcknowledged(&deliveries[i], status.Revision, anchors); why != "" {
			return fmt.Sprintf("the delivery in %s %s", deliveries[i].Spec.ClusterRef.Name, why)
		}
	}
	return ""
}

// isNotReadyNow says why conditions do not tell that a generation is Ready, and in the clusters.
func isNotReadyNow(conditions []metav1.Condition, generation int64) string {
	ready := meta.FindStatusCondition(conditions, metav1alpha1.ConditionReady)
	stale := slices.ContainsFunc(conditions, func(one metav1.Condition) bool { return one.ObservedGeneration != generation })
	if ready == nil || ready.Status != metav1.ConditionTrue || stale || meta.IsStatusConditionTrue(conditions, metav1alpha1.ConditionReconciling) {
		return fmt.Sprintf("is not Ready in generation %d: %+v", generation, conditions)
	}
	// What only mirrors the deliveries may be told later than the rest.
	for _, kind := range []string{certificatesv1alpha1.ConditionDistributed, certificatesv1alpha1.ConditionTrustDistributed} {
		if meta.IsStatusConditionFalse(conditions, kind) {
			return "does not say that it is " + kind
		}
	}
	return ""
}

// isNotAcknowledged says why a delivery has not read back what it is to deliver.
func isNotAcknowledged(delivery *certificatesv1alpha1.CertificateDelivery, revision string, anchors int) string {
	status := delivery.Status
	switch {
	case delivery.Spec.Revision != revision || status.Revision != revision || status.ObservedGeneration != delivery.Generation:
		return fmt.Sprintf("has revision %s in generation %d", status.Revision, status.ObservedGeneration)
	case status.Acknowledged == nil || status.Acknowledged.Generation != delivery.Generation:
		return fmt.Sprintf("is acknowledged as %+v", status.Acknowledged)
	case status.Anchors == nil || int(status.Anchors.Count) != anchors:
		return fmt.Sprintf("has anchors %+v", status.Anchors)
	case delivery.Spec.Content != "" && (status.Certificate == nil || status.Certificate.Issuance != delivery.Spec.Content):
		return fmt.Sprintf("has certificate %+v", status.Certificate)
	}
	return isNotReadyNow(status.Conditions, delivery.Generation)
}

// isNotPending says why a bundle does not wait for the certificates of all clusters.
func (w *bundleEnv) isNotPending(name string) string {
	bundle := &certificatesv1alpha1.CertificateBundle{}
	if err := w.management.Get(context.Background(), client.ObjectKey{Namespace: "default", Name: name}, bundle); err != nil {
		return err.Error()
	}
	issued := meta.FindStatusCondition(bundle.Status.Conditions, certificatesv1alpha1.ConditionIssued)
	if issued == nil || issued.Reason != certificatesv1alpha1.ReasonIssuancePending || issued.ObservedGeneration != bundle.Generation {
		return fmt.Sprintf("the bundle does not wait: %+v", bundle.Status.Conditions)
	}
	certificates, err := w.certificatesOf(name)
	if err != nil || len(certificates) != len(bundleClusters) {
		return fmt.Sprintf("there are %d Certificates: %v", len(certificates), err)
	}
	return ""
}

// isStillAskedFor says which certificates are asked for, though no cluster is selected.
func (w *bundleEnv) isStillAskedFor(name string) string {
	bundle := &certificatesv1alpha1.CertificateBundle{}
	if err := w.management.Get(context.Background(), client.ObjectKey{Namespace: "default", Name: name}, bundle); err != nil {
		return err.Error()
	}
	certificates, err := w.certificatesOf(name)
	if err != nil || len(certificates) > 0 || bundle.Status.ObservedGeneration != bundle.Generation {
		return fmt.Sprintf("%d Certificates are left: %v; %+v", len(certificates), err, bundle.Status.Conditions)
	}
	return ""
}

// isNotTaken says why what a Certificate asks for was not issued, or why an issuance is not the newest that was.
func (w *bundleEnv) isNotTaken(certificate *unstructured.Unstructured, issuances []corev1.Secret, names []string) string {
	if why := isNotReadyAsAsked(certificate); why != "" {
		return why
	}
	asked, _, _ := unstructured.NestedStringSlice(certificate.Object, "spec", "dnsNames")
	for _, name := range names {
		if !slices.Contains(asked, name) {
			return fmt.Sprintf("it is for %v", asked)
		}
	}
	secret := &corev1.Secret{}
	if err := w.management.Get(context.Background(), client.ObjectKey{Namespace: "default", Name: secretNameOf(certificate)}, secret); err != nil {
		return err.Error()
	}
	for _, one := range issuances {
		if one.Labels[metav1alpha1.LabelCluster] == certificate.GetLabels()[metav1alpha1.LabelCluster] && slices.Equal(one.Data["tls.crt"], secret.Data["tls.crt"]) {
			return ""
		}
	}
	return "what was issued was not taken"
}

// isNotReadyAsAsked says why cert-manager has not done what an object of its kinds asks for.
func isNotReadyAsAsked(object *unstructured.Unstructured) string {
	ready := false
	list, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, one := range list {
		condition, _ := one.(map[string]any)
		switch condition["type"] {
		case "Issuing":
			if condition["status"] == "True" {
				return "it is being issued"
			}
		case "Ready":
			ready = condition["status"] == "True" && condition["observedGeneration"] == object.GetGeneration()
		}
	}
	if !ready {
		return fmt.Sprintf("it is not Ready: %v", list)
	}
	return ""
}

// isNotGone says what is left of a bundle, in any cluster. Keys that belong to Certificates that are gone are left where nobody
// collects garbage; describe counts them.
func (w *bundleEnv) isNotGone(name string) string {
	bundle := &certificatesv1alpha1.CertificateBundle{}
	err := w.management.Get(context.Background(), client.ObjectKey{Namespace: "default", Name: name}, bundle)
	if !apierrors.IsNotFound(err) {
		return fmt.Sprintf("the bundle is there: %v, %+v", err, bundle.Status.Conditions)
	}
	left := w.secretsOf(name)
	deliveries, err := w.deliveriesOf(name)
	if err != nil || len(left)+len(deliveries) > 0 {
		return fmt.Sprintf("%d deliveries are left, and the Secrets %v: %v", len(deliveries), left, err)
	}
	certificates, err := w.certificatesOf(name)
	if err != nil || len(certificates) > 0 {
		return fmt.Sprintf("%d Certificates are left: %v", len(certificates), err)
	}
	for _, cluster := range bundleClusters {
		for _, object := range []client.Object{&corev1.Secret{}, &corev1.ConfigMap{}} {
			suffix := map[bool]string{true: "-tls", false: "-anchors"}[isSecret(object)]
			if err := w.clusters[cluster].Get(context.Background(), client.ObjectKey{Namespace: "default", Name: name + suffix}, object); !apierrors.IsNotFound(err) {
				return fmt.Sprintf("%T %s%s is left in %s: %v", object, name, suffix, cluster, err)
			}
		}
	}
	return w.isNotSeenGone(name)
}

func isSecret(object client.Object) bool { _, is := object.(*corev1.Secret); return is }

// isNotSeenGone says which Secret the witness has not seen the end of.
func (w *bundleEnv) isNotSeenGone(name string) string {
	for _, line := range w.secrets.testimony("default", name+"-") {
		if !strings.HasSuffix(line, ended) && !strings.HasSuffix(line, "made "+madeKey) {
			return "no watch showed yet that this one is gone: " + line
		}
	}
	return ""
}
