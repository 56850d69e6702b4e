package admission_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

const (
	// notForClusters and notTheLabel are in what the manager is told.
	notForClusters = "the manager makes and deletes no namespaces but those for the Clusters of orders"
	notTheLabel    = "the manager changes nothing of a namespace but its label"
)

func namespaceWith(name string, labels map[string]string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
}

func forClusters(name string) *corev1.Namespace {
	return namespaceWith(name, map[string]string{
		metav1alpha1.LabelManagedBy: "installation", metav1alpha1.LabelClustersOf: "uid", metav1alpha1.LabelHoldsClusters: "true",
	})
}

// The manager's role permits it to make, change and delete any namespace. Its credentials may be stolen.
func TestTheManagerMakesAndDeletesNoNamespacesButThoseForClusters(t *testing.T) {
	theirs := existing(t, namespaceWith("theirs", map[string]string{metav1alpha1.LabelHoldsClusters: "true"}))
	ours := existing(t, forClusters("theirs-clusters"))
	try(t, map[string]attempt{
		"it makes one for Clusters":        {manager, "", create(forClusters("globex-clusters"))},
		"it deletes one for Clusters":      {manager, "", remove(ours)},
		"it makes any":                     {manager, notForClusters, create(namespaceWith("any", nil))},
		"it makes one that holds Clusters": {manager, notForClusters, create(namespaceWith("any", map[string]string{metav1alpha1.LabelHoldsClusters: "true"}))},
		"it deletes a customer's":          {manager, notForClusters, remove(theirs)},
		"an administrator makes any":       {admin, "", create(namespaceWith("any", nil))},
		"an administrator deletes any":     {admin, "", remove(theirs)},
	})
}

func TestTheManagerChangesNothingOfANamespaceButItsLabel(t *testing.T) {
	theirs := existing(t, namespaceWith("initech", map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}))
	ours := existing(t, forClusters("initech-clusters"))
	try(t, map[string]attempt{
		"it labels one that has Clusters":    {manager, "", patch(theirs, `{"metadata":{"labels":{"`+metav1alpha1.LabelHoldsClusters+`":"true"}}}`)},
		"it labels one otherwise":            {manager, notTheLabel, patch(theirs, `{"metadata":{"labels":{"`+metav1alpha1.LabelHoldsClusters+`":"no"}}}`)},
		"it makes one its own":               {manager, notTheLabel, patch(theirs, `{"metadata":{"labels":{"`+metav1alpha1.LabelClustersOf+`":"uid","`+metav1alpha1.LabelManagedBy+`":"i"}}}`)},
		"it gives one to another customer":   {manager, notTheLabel, patch(ours, `{"metadata":{"labels":{"`+metav1alpha1.LabelClustersOf+`":"other"}}}`)},
		"it takes the protection of Secrets": {manager, notTheLabel, patch(ours, `{"metadata":{"labels":{"`+metav1alpha1.LabelHoldsClusters+`":null}}}`)},
		"it lifts pod security":              {manager, notTheLabel, patch(theirs, `{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"privileged"}}}`)},
		"it removes pod security":            {manager, notTheLabel, patch(theirs, `{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":null}}}`)},
		"it annotates one":                   {manager, notTheLabel, patch(theirs, `{"metadata":{"annotations":{"a":"b"}}}`)},
		"it holds one":                       {manager, notTheLabel, patch(theirs, `{"metadata":{"finalizers":["daytwo.dev/held"]}}`)},
		"an administrator lifts security":    {admin, "", patch(theirs, `{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"baseline"}}}`)},
	})
}
