package certificatecontent

import (
	"reflect"
	"strings"
	"testing"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/clustertemplate"
	"github.com/daytwo-dev/daytwo/controllers/internal/issuance"
)

var prod = clustertemplate.Cluster{
	ClusterReference:  metav1alpha1.ClusterReference{Namespace: "acme", Name: "prod"},
	ClusterParameters: metav1alpha1.ClusterParameters{Version: "1.36", Labels: map[string]string{"zone": "eu"}},
}

func TestARequestHasTheNamesOfItsCluster(t *testing.T) {
	got, err := RequestFor(&certificatesv1alpha1.CertificateTemplate{
		CommonName: "{{ .Cluster.Name }}", DNSNames: []string{"{{ .Cluster.Name }}.example.com", "prod.example.com", "{{ .Cluster.Labels.zone }}.example.com"},
		IPAddresses: []string{"192.0.2.1"}, URIs: []string{"spiffe://{{ .Cluster.Namespace }}/web"}, EmailAddresses: []string{"{{ .Cluster.Name }}@example.com"},
		Usages: []certificatesv1alpha1.KeyUsage{"client auth"}, PrivateKey: certificatesv1alpha1.PrivateKeyTemplate{Algorithm: "RSA", Size: 3072},
	}, prod)
	want := issuance.Request{
		CommonName: "prod", DNSNames: []string{"prod.example.com", "eu.example.com"}, // What comes to the same is asked for once.
		IPAddresses: []string{"192.0.2.1"}, URIs: []string{"spiffe://acme/web"}, EmailAddresses: []string{"prod@example.com"},
		Usages: []string{"client auth"}, Algorithm: "RSA", Size: 3072,
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestARequestIsForServersByDefault(t *testing.T) {
	got, err := RequestFor(&certificatesv1alpha1.CertificateTemplate{DNSNames: []string{"a.example.com"}}, prod)
	if want := []string{"digital signature", "key encipherment", "server auth"}; err != nil || !reflect.DeepEqual(got.Usages, want) {
		t.Errorf("got %+v, %v", got.Usages, err)
	}
}

func TestANameThatCannotBeExpandedIsNamed(t *testing.T) {
	const missing = "{{ .Cluster.Labels.rack }}"
	for field, template := range map[string]certificatesv1alpha1.CertificateTemplate{
		"spec.certificate.commonName":        {CommonName: missing},
		"spec.certificate.dnsNames[1]":       {DNSNames: []string{"a.example.com", missing}},
		"spec.certificate.ipAddresses[0]":    {IPAddresses: []string{missing}},
		"spec.certificate.uris[0]":           {URIs: []string{missing}},
		"spec.certificate.emailAddresses[0]": {EmailAddresses: []string{missing}},
	} {
		if _, err := RequestFor(&template, prod); err == nil || !strings.HasPrefix(err.Error(), field+": TenantCluster acme/prod has no label rack") {
			t.Errorf("%s: %v", field, err)
		}
	}
}
