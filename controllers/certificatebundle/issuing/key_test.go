package issuing

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
)

// manyKeys are certificates whose names are as alike as they can be, all in one namespace.
func manyKeys() (keys []Key) {
	long := strings.Repeat("long-name-", 6)
	bundles := []string{"a", "a-b", "a.b", "web", long + "x", long + "y"}
	for _, bundle := range bundles {
		keys = append(keys, Key{Bundle: types.NamespacedName{Namespace: "acme", Name: bundle}})
		for _, cluster := range []rollout.ClusterKey{{Namespace: "n", Name: "c"}, {Namespace: "m", Name: "c"}, {Namespace: "n", Name: "b-c"}, {Namespace: "n", Name: "c.d"}, {Namespace: "n", Name: long + "1"}, {Namespace: "n", Name: long + "2"}} {
			keys = append(keys, Key{Bundle: types.NamespacedName{Namespace: "acme", Name: bundle}, Cluster: cluster})
		}
		for i := range 1000 {
			keys = append(keys, Key{Bundle: types.NamespacedName{Namespace: "acme", Name: bundle}, Cluster: rollout.ClusterKey{Namespace: "n", Name: fmt.Sprintf("cluster-%04d", i)}})
		}
	}
	return keys
}

func TestTwoCertificatesNeverShareANameOrAnIndex(t *testing.T) {
	names, indexes := map[string]Key{}, map[string]Key{}
	for _, key := range manyKeys() {
		name := key.name()
		if other, taken := names[name]; taken {
			t.Errorf("%s and %s share the name %s", key, other, name)
		}
		if other, taken := indexes[key.String()]; taken {
			t.Errorf("%s and %s share an index", key, other)
		}
		names[name], indexes[key.String()] = key, key
		if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
			t.Errorf("%s: %v", name, problems)
		}
		// The name of an issuance is a DNS label of the same beginning where the bundle's is.
		if len(name) > maxName || len(name)+len("-0123456789abcd") > validation.DNS1123SubdomainMaxLength {
			t.Errorf("%s is %d characters long", name, len(name))
		}
	}
}

func TestTheLabelsOfACertificateSayWhichItIs(t *testing.T) {
	for _, key := range manyKeys() {
		object := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: key.Bundle.Namespace, Labels: key.labels()}}
		if got, ok := keyFromLabels(object); !ok || got != key {
			t.Errorf("%s is read as %s, %v", key, got, ok)
		}
		for label, value := range key.labels() {
			if problems := validation.IsValidLabelValue(value); len(value) <= 63 && len(problems) > 0 {
				t.Errorf("%s=%s: %v", label, value, problems)
			}
		}
	}
}

func TestAnObjectWithoutTheLabelOfABundleIsOfNoCertificate(t *testing.T) {
	object := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Labels: map[string]string{"daytwo.dev/cluster": "prod", "daytwo.dev/cluster-namespace": "acme"}}}
	if key, ok := keyFromLabels(object); ok {
		t.Errorf("it is of %s", key)
	}
}

func TestWithASharedKeyAllClustersHaveOneCertificate(t *testing.T) {
	own, shared := newBundle(), &certificatesv1alpha1.CertificateBundle{ObjectMeta: newBundle().ObjectMeta}
	shared.Spec.SharedKey = true
	a, b := rollout.ClusterKey{Namespace: "acme", Name: "a"}, rollout.ClusterKey{Namespace: "acme", Name: "b"}
	if KeyOf(own, a) == KeyOf(own, b) || KeyOf(shared, a) != KeyOf(shared, b) || KeyOf(shared, a) != (Key{Bundle: webKey.Bundle}) {
		t.Errorf("got %s and %s, shared %s and %s", KeyOf(own, a), KeyOf(own, b), KeyOf(shared, a), KeyOf(shared, b))
	}
}
