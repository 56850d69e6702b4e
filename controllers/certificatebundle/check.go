package certificatebundle

import (
	"fmt"
	"net"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/certificatebundle/authority"
	"github.com/daytwo-dev/daytwo/controllers/certificatebundle/issuing"
	"github.com/daytwo-dev/daytwo/controllers/internal/certificatecontent"
	"github.com/daytwo-dev/daytwo/controllers/internal/clustertemplate"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy"
)

// Problem is what a person has to mend in a bundle.
type Problem struct {
	// Reason is InvalidSpec, or IssuerNotAllowed.
	Reason string
	// Field of the bundle, as in "spec.certificate.dnsNames[0]".
	Field   string
	Message string
}

// Error implements error.
func (p *Problem) Error() string { return p.Field + ": " + p.Message }

func (p *Problem) stall() *policy.Stall {
	return &policy.Stall{Reason: p.Reason, Message: p.Error()}
}

func invalid(field, format string, args ...any) *Problem {
	return &Problem{Reason: metav1alpha1.ReasonInvalidSpec, Field: field, Message: fmt.Sprintf(format, args...)}
}

// Checker tells what is wrong with bundles.
type Checker struct {
	// ProviderNamespace is where bundles may use any ClusterIssuer.
	ProviderNamespace string
	// CustomerClusterIssuers are the ClusterIssuers that bundles of other namespaces may use.
	CustomerClusterIssuers []string
}

// Check returns what is wrong with a bundle, beside what its definition says; nil for nothing.
func (c Checker) Check(bundle *certificatesv1alpha1.CertificateBundle) *Problem {
	for _, check := range []func(*certificatesv1alpha1.CertificateBundle) *Problem{
		c.checkIssuer, checkAuthority, checkNames, checkRequestPolicy, checkTargets, checkTrustTargets, checkDuplicates, checkProbe,
	} {
		if problem := check(bundle); problem != nil {
			return problem
		}
	}
	return nil
}

func (c Checker) checkIssuer(bundle *certificatesv1alpha1.CertificateBundle) *Problem {
	ref := bundle.Spec.IssuerRef
	if ref == nil || ref.Kind != "ClusterIssuer" || bundle.Namespace == c.ProviderNamespace || slices.Contains(c.CustomerClusterIssuers, ref.Name) {
		return nil
	}
	return &Problem{
		Reason: certificatesv1alpha1.ReasonIssuerNotAllowed, Field: "spec.issuerRef",
		Message: fmt.Sprintf("ClusterIssuer %s may not be used in namespace %s: name an Issuer of that namespace, or ask the provider to start the manager with it in --customer-cluster-issuers", ref.Name, bundle.Namespace),
	}
}

// checkAuthority keeps certificates from outliving the authority that they are from, which would break all of them at once.
func checkAuthority(bundle *certificatesv1alpha1.CertificateBundle) *Problem {
	if bundle.Spec.CA == nil || bundle.Spec.Certificate == nil {
		return nil
	}
	if len(bundle.Spec.Drift.Ignore) > 0 {
		return invalid("spec.drift.ignore", "a rotation relies on it that clusters have the anchors that they were told: remove ignore, or use issuerRef")
	}
	lives, issued := authority.DurationOf(bundle.Spec.CA), bundle.Spec.Certificate.Duration
	leaf := issuing.DefaultDuration
	if issued != nil {
		leaf = issued.Duration
	}
	if 2*leaf > lives {
		return invalid("spec.certificate.duration", "%s is more than half of the %s that the authority is valid (spec.ca.duration): use less, so that the authority can be replaced in time", leaf, lives)
	}
	if rotation := bundle.Spec.Rotation; rotation != nil && rotation.Age.Duration > lives-leaf {
		return invalid("spec.rotation.age", "%s is too late: an authority is valid for %s (spec.ca.duration), and its certificates for %s; use %s or less", rotation.Age.Duration, lives, leaf, lives-leaf)
	}
	return nil
}

// checkNames reads the templates in the certificate.
func checkNames(bundle *certificatesv1alpha1.CertificateBundle) *Problem {
	template := bundle.Spec.Certificate
	if template == nil {
		return nil
	}
	for _, names := range []struct {
		field string
		texts []string
	}{
		{"dnsNames", template.DNSNames}, {"ipAddresses", template.IPAddresses}, {"uris", template.URIs}, {"emailAddresses", template.EmailAddresses},
	} {
		for i, text := range names.texts {
			if problem := checkName(bundle, fmt.Sprintf("spec.certificate.%s[%d]", names.field, i), text); problem != nil {
				return problem
			}
		}
	}
	return checkName(bundle, "spec.certificate.commonName", template.CommonName)
}

func checkName(bundle *certificatesv1alpha1.CertificateBundle, field, text string) *Problem {
	if err := clustertemplate.Check(text); err != nil {
		return invalid(field, "%s", err)
	}
	if bundle.Spec.SharedKey && clustertemplate.Uses(text) {
		return invalid(field, "%q differs by cluster, and with sharedKey all clusters have one certificate: remove one of the two", text)
	}
	// Customers choose the names and the labels of their clusters, and so would choose for whom they get a certificate.
	if bundle.Spec.ClusterNamespaceSelector != nil && clustertemplate.Uses(text) && !clustertemplate.TellsCustomersApart(text) {
		return invalid(field, "the bundle is for clusters of several customers, who choose what %q becomes: write {{ .Cluster.Namespace }} into it, or a label below %s, so that no two customers get one name", text, metav1alpha1.ProviderLabelPrefix)
	}
	return nil
}

// checkProbe reads the templates in the probe. Whether they come to an address is seen in each cluster.
func checkProbe(bundle *certificatesv1alpha1.CertificateBundle) *Problem {
	probe := bundle.Spec.Probe
	if probe == nil {
		return nil
	}
	if err := clustertemplate.Check(probe.Address); err != nil {
		return invalid("spec.probe.address", "%s", err)
	}
	if probe.Pod != nil {
		if problem := checkSelector("spec.probe.pod.selector", &probe.Pod.Selector); problem != nil {
			return problem
		}
	}
	if _, port, err := net.SplitHostPort(probe.Address); probe.Address != "" && !clustertemplate.Uses(probe.Address) && (err != nil || port == "") {
		return invalid("spec.probe.address", "%q is no host and port: write both, as in shop.acme.example:443", probe.Address)
	}
	if err := clustertemplate.Check(probe.ServerName); err != nil {
		return invalid("spec.probe.serverName", "%s", err)
	}
	return nil
}

func checkTargets(bundle *certificatesv1alpha1.CertificateBundle) *Problem {
	for i, target := range bundle.Spec.Targets {
		field := fmt.Sprintf("spec.targets[%d]", i)
		if problem := checkPlace(field, "secretName", target.SecretName, target.Placement); problem != nil {
			return problem
		}
	}
	return nil
}

func checkTrustTargets(bundle *certificatesv1alpha1.CertificateBundle) *Problem {
	if bundle.Spec.Trust == nil {
		return nil
	}
	for i, target := range bundle.Spec.Trust.Targets {
		field := fmt.Sprintf("spec.trust.targets[%d]", i)
		if problem := checkPlace(field, "name", target.Name, target.Placement); problem != nil {
			return problem
		}
	}
	return nil
}

func checkPlace(field, nameField, name string, place certificatesv1alpha1.Placement) *Problem {
	if err := clustertemplate.Check(name); err != nil {
		return invalid(field+"."+nameField, "%s", err)
	}
	return checkSelector(field+".namespaceSelector", place.NamespaceSelector)
}

func checkSelector(field string, selector *metav1.LabelSelector) *Problem {
	if _, err := metav1.LabelSelectorAsSelector(selector); err != nil {
		return invalid(field, "it is no valid selector: %s", err)
	}
	if size := len(metav1.FormatLabelSelector(selector)); size > certificatecontent.MaxSelector {
		return invalid(field, "it is %d bytes long, more than %d: label what it selects, and select that label", size, certificatecontent.MaxSelector)
	}
	return nil
}

// checkDuplicates finds objects that two targets name. What selectors select differs by cluster, and is found there.
func checkDuplicates(bundle *certificatesv1alpha1.CertificateBundle) *Problem {
	taken := map[string]string{}
	add := func(field, kind, name string, namespaces []string) *Problem {
		for _, namespace := range namespaces {
			object := kind + " " + strings.TrimPrefix(namespace+"/"+name, "/")
			if other, is := taken[object]; is {
				return invalid(field, "%s is that of %s already: choose another name, or remove one of the two", object, other)
			}
			taken[object] = field
		}
		return nil
	}
	for i, target := range bundle.Spec.Targets {
		if problem := add(fmt.Sprintf("spec.targets[%d]", i), "Secret", target.SecretName, target.Namespaces); problem != nil {
			return problem
		}
	}
	if bundle.Spec.Trust == nil {
		return nil
	}
	for i, target := range bundle.Spec.Trust.Targets {
		namespaces := target.Namespaces
		if target.Kind == "ClusterTrustBundle" {
			namespaces = []string{""} // It has no namespace.
		}
		if problem := add(fmt.Sprintf("spec.trust.targets[%d]", i), target.Kind, target.Name, namespaces); problem != nil {
			return problem
		}
	}
	return nil
}
