// Package certificatecontent is the form of a CertificateBundle's revisions: certificatebundle writes it, certificatedelivery
// reads it. Neither imports the other, so what the pair agrees on stands here.
package certificatecontent

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/clustertemplate"
	"github.com/daytwo-dev/daytwo/controllers/internal/issuance"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/revision"
)

// MaxSelector is how long a selector of namespaces is at most, in bytes of the text that metav1.FormatLabelSelector gives: the
// statuses of targets repeat it.
const MaxSelector = 1024

// Content is what a revision of a CertificateBundle holds. The certificates themselves are not in it: each cluster has its own.
type Content struct {
	// Certificate is what the bundle asks for; nil if it has none.
	Certificate *certificatesv1alpha1.CertificateTemplate `json:"certificate,omitempty"`
	// Relay is what the bundle answers requests by; nil if it answers none.
	Relay *Relay `json:"relay,omitempty"`
	// Targets are the Secrets that hold it.
	Targets []certificatesv1alpha1.SecretTarget `json:"targets,omitempty"`
	// Passwords of keystores, by the Secret and key that they are from, as in "stores/password".
	Passwords map[string][]byte `json:"passwords,omitempty"`
	// Trust is which anchors are where; nil for none.
	Trust *Trust `json:"trust,omitempty"`
}

// Trust is trust anchors and the objects that hold them.
type Trust struct {
	// PEM of the anchors, in a stable order.
	PEM string `json:"pem"`
	// Summary of them.
	Summary certificatesv1alpha1.AnchorSummary `json:"summary"`
	// Targets are the objects that hold them.
	Targets []certificatesv1alpha1.TrustTarget `json:"targets"`
}

// Read returns the content of a CertificateBundle's revision. Its errors are those of revision.Read.
func Read(ctx context.Context, reader client.Reader, key types.NamespacedName) (Content, error) {
	return revision.ReadAs[Content](ctx, reader, key)
}

// Size of the content in bytes, roughly: of what may be large.
func (c Content) Size() int {
	const overhead = 1024
	size := overhead * (1 + len(c.Targets))
	for _, password := range c.Passwords {
		size += len(password)
	}
	if c.Trust != nil {
		size += len(c.Trust.PEM) + overhead*len(c.Trust.Targets)
	}
	return size
}

// PasswordKey is where the password of a keystore is in Content.Passwords.
func PasswordKey(name, key string) string { return name + "/" + key }

// RequestFor is what a template asks for in a cluster. It fails where a name cannot be expanded for it.
func RequestFor(template *certificatesv1alpha1.CertificateTemplate, cluster clustertemplate.Cluster) (issuance.Request, error) {
	request := issuance.Request{Algorithm: template.PrivateKey.Algorithm, Size: int(template.PrivateKey.Size)}
	var err error
	if request.CommonName, err = clustertemplate.Expand(template.CommonName, cluster); err != nil {
		return request, fmt.Errorf("spec.certificate.commonName: %w", err)
	}
	for _, names := range []struct {
		field string
		texts []string
		into  *[]string
	}{
		{"dnsNames", template.DNSNames, &request.DNSNames},
		{"ipAddresses", template.IPAddresses, &request.IPAddresses},
		{"uris", template.URIs, &request.URIs},
		{"emailAddresses", template.EmailAddresses, &request.EmailAddresses},
	} {
		for i, text := range names.texts {
			expanded, err := clustertemplate.Expand(text, cluster)
			if err != nil {
				return request, fmt.Errorf("spec.certificate.%s[%d]: %w", names.field, i, err)
			}
			if !slices.Contains(*names.into, expanded) {
				*names.into = append(*names.into, expanded)
			}
		}
	}
	for _, usage := range UsagesOf(template) {
		request.Usages = append(request.Usages, string(usage))
	}
	return request, nil
}

// UsagesOf are the usages that a template asks for.
func UsagesOf(template *certificatesv1alpha1.CertificateTemplate) []certificatesv1alpha1.KeyUsage {
	if len(template.Usages) > 0 {
		return template.Usages
	}
	return defaultUsages()
}

func defaultUsages() []certificatesv1alpha1.KeyUsage {
	return []certificatesv1alpha1.KeyUsage{"digital signature", "key encipherment", "server auth"}
}
