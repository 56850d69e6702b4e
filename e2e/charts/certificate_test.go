package charts

import (
	"reflect"
	"testing"
)

func TestCertificateIsAnotherEachTime(t *testing.T) {
	first := objects(t, rendered(t, "certificate", FirstVersion, nil).Manifest)
	second := objects(t, rendered(t, "certificate", FirstVersion, nil).Manifest)
	for id, field := range map[string]string{
		"Secret/acme-certificate-tls": "tls.crt", "Secret/acme-certificate-password": "password",
	} {
		value := dig(t, first[id], "data", field)
		if value == nil || value == dig(t, second[id], "data", field) {
			t.Errorf("%s of %s is nothing, or twice the same", field, id)
		}
	}
	annotations := dig(t, first["Deployment/acme-certificate"], "spec", "template", "metadata", "annotations")
	if got := ids(annotations.(map[string]any)); !reflect.DeepEqual(got, []string{"checksum/password", "checksum/tls"}) {
		t.Errorf("the Deployment's annotations are %v", got)
	}
}
