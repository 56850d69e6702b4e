package customerkubeconfig

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/kubeconfig"
)

func tenant() *tenancyv1alpha1.TenantCluster {
	return &tenancyv1alpha1.TenantCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "prod", UID: "1"}}
}

func access() kubeconfig.Access {
	return kubeconfig.Access{Server: "https://prod.example:6443", Token: "token"}
}

func TestTheCopyHoldsWhatWasAcceptedAndNothingElse(t *testing.T) {
	given := access()
	secret, err := Desired(tenant(), given)
	if err != nil {
		t.Fatal(err)
	}
	got, err := kubeconfig.Parse(secret.Data[Key], kubeconfig.Options{})
	if err != nil || got.Fingerprint() != given.Fingerprint() {
		t.Errorf("it holds %s: %v", got, err)
	}
	if secret.Type != tenancyv1alpha1.SecretTypeKubeconfig || secret.Immutable == nil || !*secret.Immutable || secret.Namespace != "acme" {
		t.Errorf("it is %s, immutable %v, in %s", secret.Type, secret.Immutable, secret.Namespace)
	}
}

// Names by which Cluster API finds Secrets of a Cluster, whatever that is called.
func TestClusterAPIReadsNoSecretOfThatName(t *testing.T) {
	for _, end := range []string{"-kubeconfig", "-ca", "-etcd", "-proxy", "-sa", "-apiserver-etcd-client"} {
		for _, name := range []string{"prod", "prod" + end} {
			if strings.HasSuffix(SecretName(name), end) {
				t.Errorf("%s is one of a Cluster's", SecretName(name))
			}
		}
	}
}

func TestStandingOfTheSecretThatIsThere(t *testing.T) {
	desired, err := Desired(tenant(), access())
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		change func(*metav1.PartialObjectMetadata)
		want   Standing
	}{
		"the desired one":                            {func(*metav1.PartialObjectMetadata) {}, Current},
		"the credentials changed":                    {func(m *metav1.PartialObjectMetadata) { m.Labels[metav1alpha1.LabelHash] = "v1-before" }, Outdated},
		"somebody took the labels":                   {func(m *metav1.PartialObjectMetadata) { m.Labels = nil }, Outdated},
		"somebody else's":                            {func(m *metav1.PartialObjectMetadata) { m.OwnerReferences = nil }, Foreign},
		"of a TenantCluster of the same name before": {func(m *metav1.PartialObjectMetadata) { m.OwnerReferences[0].UID = "0" }, Foreign},
	} {
		found := &metav1.PartialObjectMetadata{ObjectMeta: *desired.ObjectMeta.DeepCopy()}
		test.change(found)
		if got := Compare(tenant(), found, desired); got != test.want {
			t.Errorf("%s: %d, want %d", name, got, test.want)
		}
	}
	if got := Compare(tenant(), nil, desired); got != Missing {
		t.Errorf("without any: %d", got)
	}
}
