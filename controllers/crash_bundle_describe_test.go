package controllers

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"regexp"
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
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
)

// Kinds of Secrets, as a witness tells of them.
const (
	madeKey      = "key"
	madeIssuance = "issuance"
	madeRevision = "revision"
)

// secretKind tells what a Secret of the management cluster is for: a key that cert-manager has just made, or what Daytwo keeps.
func secretKind(object client.Object) string {
	secret := object.(*corev1.Secret)
	switch {
	case secret.Labels["cert-manager.io/next-private-key"] == "true":
		return madeKey
	case secret.Type == metav1alpha1.SecretTypeIssuance:
		return madeIssuance
	case secret.Labels[metav1alpha1.LabelPolicy] != "":
		return madeRevision
	}
	return "of type " + string(secret.Type)
}

// issuingOf tells of the spec of a Certificate, and why cert-manager issues it.
func issuingOf(object client.Object) string {
	certificate := object.(*unstructured.Unstructured)
	told := fmt.Sprintf("in generation %d", certificate.GetGeneration())
	list, _, _ := unstructured.NestedSlice(certificate.Object, "status", "conditions")
	for _, one := range list {
		if condition, _ := one.(map[string]any); condition["type"] == "Issuing" {
			told += fmt.Sprintf(" with Issuing=%v (%v: %v)", condition["status"], condition["reason"], condition["message"])
		}
	}
	return told
}

func secretNameOf(certificate *unstructured.Unstructured) string {
	name, _, _ := unstructured.NestedString(certificate.Object, "spec", "secretName")
	return name
}

func (w *bundleEnv) deliveriesOf(bundle string) ([]certificatesv1alpha1.CertificateDelivery, error) {
	list := &certificatesv1alpha1.CertificateDeliveryList{}
	err := w.management.List(context.Background(), list, client.InNamespace("default"), client.MatchingLabels{metav1alpha1.LabelPolicy: bundle})
	return list.Items, err
}

// certificatesOf a bundle; none where cert-manager is not installed.
func (w *bundleEnv) certificatesOf(bundle string) ([]unstructured.Unstructured, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(certManager("CertificateList"))
	err := w.management.List(context.Background(), list, client.InNamespace("default"), client.MatchingLabels{metav1alpha1.LabelBundle: bundle})
	if w.requests == nil && meta.IsNoMatchError(err) {
		return nil, nil
	}
	return list.Items, err
}

func (w *bundleEnv) issuancesOf(bundle string) ([]corev1.Secret, error) {
	list := &corev1.SecretList{}
	err := w.management.List(context.Background(), list, client.InNamespace("default"), client.MatchingLabels{metav1alpha1.LabelBundle: bundle})
	return slices.DeleteFunc(list.Items, func(secret corev1.Secret) bool { return secret.Type != metav1alpha1.SecretTypeIssuance }), err
}

// secretsOf are the Secrets of the management cluster that were made for a bundle, by their names, without keys that belong to a
// Certificate.
func (w *bundleEnv) secretsOf(bundle string) (names []string) {
	list := &corev1.SecretList{}
	if err := w.management.List(context.Background(), list, client.InNamespace("default")); err != nil {
		return []string{wrong + err.Error()}
	}
	for _, secret := range list.Items {
		if secretKind(&secret) == madeKey && len(secret.OwnerReferences) > 0 {
			continue
		}
		if strings.HasPrefix(secret.Name, bundle+"-") || secret.Labels[metav1alpha1.LabelPolicy] == bundle {
			names = append(names, secret.Name)
		}
	}
	return names
}

// describe tells where a life is: what is in all clusters because of it, and which keys and certificates were ever made. Two
// lives that are at the same point read the same, apart from their names.
func (w *bundleEnv) describe(name string) string {
	w.t.Helper()
	lines := slices.Concat(w.describeBundle(name), w.describeDeliveries(name), w.describeMade(name))
	for _, cluster := range bundleClusters {
		for _, line := range w.describeCluster(name, cluster) {
			lines = append(lines, cluster+" has "+line)
		}
	}
	left := &tenancyv1alpha1.OrphanRecordList{}
	if err := w.management.List(w.t.Context(), left); err != nil || len(left.Items) > 0 {
		lines = append(lines, fmt.Sprintf(wrong+"something is said to remain: %v, %v", left.Items, err))
	}
	return strings.Join(lines, "\n")
}

func (w *bundleEnv) describeBundle(name string) []string {
	bundle := &certificatesv1alpha1.CertificateBundle{}
	err := w.management.Get(w.t.Context(), client.ObjectKey{Namespace: "default", Name: name}, bundle)
	if apierrors.IsNotFound(err) {
		return []string{"no bundle"}
	}
	if err != nil {
		return []string{wrong + err.Error()}
	}
	return append(describeConditions("bundle", bundle.Status.Conditions), fmt.Sprintf("bundle ready in %s, held by %v, with anchors %t",
		bundle.Status.ReadyClusters, bundle.Finalizers, bundle.Status.Anchors != nil))
}

// describeConditions leaves out the messages, which tell of times and serial numbers.
func describeConditions(of string, conditions []metav1.Condition) (lines []string) {
	for _, one := range conditions {
		lines = append(lines, fmt.Sprintf("%s %s=%s (%s)", of, one.Type, one.Status, one.Reason))
	}
	slices.Sort(lines)
	return lines
}

// describeDeliveries tells of each delivery, and whether what its cluster has is what was issued for it.
func (w *bundleEnv) describeDeliveries(name string) (lines []string) {
	deliveries, err := w.deliveriesOf(name)
	if err != nil {
		return []string{wrong + err.Error()}
	}
	for _, delivery := range deliveries {
		cluster := delivery.Spec.ClusterRef.Name
		lines = append(lines, describeConditions("delivery in "+cluster, delivery.Status.Conditions)...)
		for _, entry := range delivery.Status.Inventory {
			lines = append(lines, fmt.Sprintf("delivery in %s has %s, only intended: %t", cluster, entry.ID, entry.UID == ""))
		}
		if delivery.Status.Certificate != nil {
			lines = append(lines, w.compareKeys(name, cluster, delivery.Status.Certificate)...)
		}
	}
	return lines
}

// compareKeys tells what is wrong with the certificate in a cluster.
func (w *bundleEnv) compareKeys(name, cluster string, told *certificatesv1alpha1.DeliveredCertificate) []string {
	kept, delivered := &corev1.Secret{}, &corev1.Secret{}
	if err := w.management.Get(w.t.Context(), client.ObjectKey{Namespace: "default", Name: told.Issuance}, kept); err != nil {
		return []string{wrong + err.Error()}
	}
	if err := w.clusters[cluster].Get(w.t.Context(), client.ObjectKey{Namespace: "default", Name: name + "-tls"}, delivered); err != nil {
		return []string{wrong + err.Error()}
	}
	for key, value := range kept.Data {
		if !slices.Equal(delivered.Data[key], value) {
			return []string{fmt.Sprintf("%s%s in %s is not what issuance %s has", wrong, key, cluster, told.Issuance)}
		}
	}
	pair, err := tls.X509KeyPair(delivered.Data["tls.crt"], delivered.Data["tls.key"])
	if err != nil {
		return []string{wrong + err.Error()}
	}
	if sum := sha256.Sum256(pair.Certificate[0]); hex.EncodeToString(sum[:]) != told.Fingerprint {
		return []string{wrong + "the fingerprint that the delivery tells is that of another certificate"}
	}
	return nil
}

// describeCluster tells of what is in a workload cluster.
func (w *bundleEnv) describeCluster(name, cluster string) (lines []string) {
	secret, anchors := &corev1.Secret{}, &corev1.ConfigMap{}
	if err := w.clusters[cluster].Get(w.t.Context(), client.ObjectKey{Namespace: "default", Name: name + "-tls"}, secret); err == nil {
		lines = append(lines, describeLeaf(secret))
	} else if !apierrors.IsNotFound(err) {
		lines = append(lines, wrong+err.Error())
	}
	if err := w.clusters[cluster].Get(w.t.Context(), client.ObjectKey{Namespace: "default", Name: name + "-anchors"}, anchors); err == nil {
		lines = append(lines, fmt.Sprintf("%d anchors", strings.Count(anchors.Data["ca.crt"], "BEGIN CERTIFICATE")))
	} else if !apierrors.IsNotFound(err) {
		lines = append(lines, wrong+err.Error())
	}
	return lines
}

func describeLeaf(secret *corev1.Secret) string {
	pair, err := tls.X509KeyPair(secret.Data["tls.crt"], secret.Data["tls.key"])
	if err != nil {
		return wrong + err.Error()
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(secret.Data["ca.crt"])
	if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: pool}); err != nil {
		return wrong + err.Error()
	}
	return fmt.Sprintf("a certificate for %v", pair.Leaf.DNSNames)
}

// generation is how a witness tells which spec a Certificate had.
var generation = regexp.MustCompile(`in generation (\d+)`)

// describeMade tells what cert-manager was asked for, and how much is there of what came of it. Each Certificate that is made and
// each generation of one may have a key made. How many keys there were ever is not compared: cert-manager itself issues a
// Certificate twice now and then, where its cache is behind what it wrote.
func (w *bundleEnv) describeMade(name string) (lines []string) {
	there := map[string]int{}
	for _, line := range w.secrets.testimony("default", name+"-") {
		if strings.HasSuffix(line, ended) {
			continue
		}
		for _, kind := range []string{madeKey, madeIssuance, madeRevision} {
			there[kind] += strings.Count(line, "made "+kind)
		}
	}
	for _, kind := range []string{madeKey, madeIssuance, madeRevision} {
		lines = append(lines, fmt.Sprintf("%ss there: %d", kind, there[kind]))
	}
	if w.certificates != nil {
		made, asked := 0, map[string]bool{}
		for at, line := range w.certificates.testimony("default", name+"-") {
			made += strings.Count(line, "made")
			for _, found := range generation.FindAllString(line, -1) {
				asked[fmt.Sprint(at, found)] = true
			}
		}
		lines = append(lines, fmt.Sprintf("Certificates made: %d, with %d specs", made, len(asked)))
	}
	slices.Sort(lines)
	return lines
}
