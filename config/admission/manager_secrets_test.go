package admission_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
)

const (
	// notOurs and notEvidence are in what the manager is told.
	notOurs     = "the manager writes Secrets of the types below daytwo.dev/"
	notEvidence = "the manager writes no ConfigMaps but"
)

// secretOfType has what the API server wants of the types that it knows.
func secretOfType(name string, of corev1.SecretType) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Type: of,
		Data: map[string][]byte{corev1.TLSCertKey: []byte("c"), corev1.TLSPrivateKeyKey: []byte("k"), corev1.BasicAuthUsernameKey: []byte("u")},
	}
}

func authority(name string) *corev1.Secret {
	secret := secretOfType(name, corev1.SecretTypeTLS)
	secret.Labels = map[string]string{metav1alpha1.LabelAuthority: "ingress"}
	return secret
}

// theirs is a Secret of a customer, which something else holds.
func theirs(name string) *corev1.Secret {
	secret := secretOfType(name, corev1.SecretTypeOpaque)
	secret.Finalizers = []string{"example.org/held"}
	return secret
}

// The manager's role permits it to write any Secret. Its credentials may be stolen.
func TestTheManagerMakesNoSecretsButItsOwn(t *testing.T) {
	token := secretOfType("token", corev1.SecretTypeServiceAccountToken)
	token.Annotations = map[string]string{corev1.ServiceAccountNameKey: "default"}
	labelled := secretOfType("labelled", corev1.SecretTypeOpaque)
	labelled.Labels = map[string]string{metav1alpha1.LabelAuthority: "ingress"}
	attempts := map[string]attempt{
		"a token of a ServiceAccount":     {manager, notOurs, create(token)},
		"anything":                        {manager, notOurs, create(secretOfType("any", corev1.SecretTypeOpaque))},
		"anything with a label of ours":   {manager, notOurs, create(labelled)},
		"a kubeconfig for Cluster API":    {manager, notOurs, create(secretOfType("prod-kubeconfig", "cluster.x-k8s.io/secret"))},
		"a certificate":                   {manager, notOurs, create(secretOfType("tls", corev1.SecretTypeTLS))},
		"credentials":                     {manager, notOurs, create(secretOfType("basic", corev1.SecretTypeBasicAuth))},
		"a type that looks like its own":  {manager, notOurs, create(secretOfType("like", "example.org/daytwo.dev/revision"))},
		"an authority that it manages":    {manager, "", create(authority("ingress-ca-1"))},
		"a customer makes a Secret":       {customer, "", create(secretOfType("any", corev1.SecretTypeOpaque))},
		"an administrator makes anything": {admin, "", create(token)},
	}
	for _, own := range []corev1.SecretType{
		"daytwo.dev/revision", metav1alpha1.SecretTypeIssuance, metav1alpha1.SecretTypeRotationMembers, metav1alpha1.SecretTypeMintedCredentials,
		tenancyv1alpha1.SecretTypeRenewedToken, "daytwo.dev/kubeconfig",
	} {
		attempts["its own: "+string(own)] = attempt{manager, "", create(secretOfType("own", own))}
	}
	try(t, attempts)
}

func TestTheManagerChangesNothingOfOthersSecretsButItsFinalizers(t *testing.T) {
	of := existing(t, theirs("theirs"))
	held := theirs("held")
	held.Finalizers = append(held.Finalizers, metav1alpha1.FinalizerAccess)
	existing(t, held)
	tls := existing(t, secretOfType("their-tls", corev1.SecretTypeTLS))
	minted := existing(t, secretOfType("minted", metav1alpha1.SecretTypeMintedCredentials))
	managed := existing(t, authority("ingress-ca-2"))
	certificate := secretOfType("ingress-prod", corev1.SecretTypeTLS)
	certificate.Labels = map[string]string{metav1alpha1.LabelBundle: "ingress"}
	issued := existing(t, certificate)
	try(t, map[string]attempt{
		"it holds one":   {manager, "", patch(of, `{"metadata":{"finalizers":["example.org/held","`+metav1alpha1.FinalizerAccess+`"]}}`)},
		"it lets one go": {manager, "", patch(held, `{"metadata":{"finalizers":["example.org/held"]}}`)},
		"the manager removes a finalizer of others": {manager, notOurs, patch(held, `{"metadata":{"finalizers":["`+metav1alpha1.FinalizerAccess+`"]}}`)},
		"the manager adds a finalizer of others":    {manager, notOurs, patch(of, `{"metadata":{"finalizers":["example.org/held","example.org/more"]}}`)},
		"it changes the content":                    {manager, notOurs, patch(of, `{"data":{"a":"Yg=="}}`)},
		"it changes the content in the other field": {manager, notOurs, patch(of, `{"stringData":{"a":"b"}}`)},
		"it labels one":                             {manager, notOurs, patch(of, `{"metadata":{"labels":{"a":"b"}}}`)},
		"it makes a certificate its own":            {manager, notOurs, patch(tls, `{"metadata":{"labels":{"`+metav1alpha1.LabelAuthority+`":"ingress"}}}`)},
		"it annotates one":                          {manager, notOurs, patch(of, `{"metadata":{"annotations":{"a":"b"}}}`)},
		"it gives one another owner":                {manager, notOurs, patch(of, `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"p","uid":"u"}]}}`)},
		"it makes one immutable":                    {manager, notOurs, patch(of, `{"immutable":true}`)},
		"it deletes one":                            {manager, notOurs, remove(of)},
		"it deletes a certificate":                  {manager, notOurs, remove(tls)},
		"it changes its own":                        {manager, "", patch(minted, `{"data":{"a":"Yg=="},"metadata":{"labels":{"a":"b"}}}`)},
		"it deletes its own":                        {manager, "", remove(minted)},
		"it deletes an authority":                   {manager, "", remove(managed)},
		"it changes what was issued for a bundle":   {manager, notOurs, patch(issued, `{"data":{"a":"Yg=="}}`)},
		"it deletes what was issued for a bundle":   {manager, "", remove(issued)},
		"a customer changes a Secret":               {customer, "", patch(of, `{"data":{"a":"Yg=="}}`)},
	})
}

func TestTheManagerWritesNoConfigMapsButEvidence(t *testing.T) {
	evidence := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "evidence", Labels: map[string]string{
		metav1alpha1.LabelPolicy: "nightly", metav1alpha1.LabelCluster: "prod", metav1alpha1.LabelClusterNamespace: namespace,
	}}, Immutable: ptr.To(true)}
	mutable := evidence.DeepCopy()
	mutable.Immutable = nil
	try(t, map[string]attempt{
		"evidence":                     {manager, "", create(evidence)},
		"evidence that may change":     {manager, notEvidence, create(mutable)},
		"anything":                     {manager, notEvidence, create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "any"}})},
		"somebody else makes anything": {admin, "", create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "any"}})},
	})
}
