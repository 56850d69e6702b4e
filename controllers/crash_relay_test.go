package controllers

import (
	"context"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/issuance/issuancetest"
)

// TestKilledWhileItAnswersRequestsItEndsWhereAnUndisturbedRunEnds lets a bundle in mode Relay answer a request that is allowed and one
// that is not in each of two clusters, and be deleted. The manager is killed after each write, such as an approval, the question to
// cert-manager, or the answer. Nobody is asked for a certificate twice.
func TestKilledWhileItAnswersRequestsItEndsWhereAnUndisturbedRunEnds(t *testing.T) {
	t.Parallel()
	const sampled = 3
	w := newBundleEnv(t)
	w.liveAll(t, sampled, w.describeRelay, []lifePhase{
		{"requests", w.relay, w.isNotAnswered},
		{"deletion", w.deleteBundle, w.isRelayNotGone},
	})
}

// relay makes a bundle that answers requests, and two requests in each cluster.
func (w *bundleEnv) relay(name string) {
	w.t.Helper()
	for _, cluster := range bundleClusters {
		w.request(cluster, name+"-good", name, "shop."+cluster+".test")
		w.request(cluster, name+"-evil", name, "shop.evil.test")
	}
	w.makeBundle(name, func(spec *certificatesv1alpha1.CertificateBundleSpec) {
		spec.Mode, spec.IssuerRef = certificatesv1alpha1.ModeRelay, &certificatesv1alpha1.IssuerReference{Name: "issuer"}
		spec.RequestPolicy = &certificatesv1alpha1.RequestPolicy{DNSNames: []string{"*.{{ .Cluster.Name }}.test"}}
	})
}

func (w *bundleEnv) request(cluster, name, bundle, dnsName string) {
	w.t.Helper()
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{DNSNames: []string{dnsName}}, issuancetest.NewKey(w.t))
	if err != nil {
		w.t.Fatal(err)
	}
	err = w.clusters[cluster].Create(w.t.Context(), &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}), SignerName: certificatesv1alpha1.SignerDomain + bundle,
			Usages: []certificatesv1.KeyUsage{certificatesv1.UsageServerAuth},
		},
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// isNotAnswered says which request has no answer, or what does not tell of it.
func (w *bundleEnv) isNotAnswered(name string) string {
	if why := w.isNotSettled(name, bundleClusters, 1); why != "" {
		return why
	}
	deliveries, err := w.deliveriesOf(name)
	if err != nil {
		return err.Error()
	}
	for _, delivery := range deliveries {
		if told := delivery.Status.Requests; told == nil || told.Issued != 1 || told.Denied != 1 || told.Pending != 0 {
			return fmt.Sprintf("the delivery in %s tells of %+v", delivery.Spec.ClusterRef.Name, told)
		}
	}
	return ""
}

// isRelayNotGone says what is left of a bundle. The requests stay in the clusters.
func (w *bundleEnv) isRelayNotGone(name string) string {
	left, err := w.certificateRequestsOf(name)
	if err != nil || len(left) > 0 {
		return fmt.Sprintf("%d CertificateRequests are left: %v", len(left), err)
	}
	return w.isNotGone(name)
}

func (w *bundleEnv) certificateRequestsOf(bundle string) ([]unstructured.Unstructured, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(certManager("CertificateRequestList"))
	err := w.management.List(context.Background(), list, client.InNamespace("default"), client.MatchingLabels{metav1alpha1.LabelBundle: bundle})
	return list.Items, err
}

// describeRelay tells where a life is: what became of the requests, and how often cert-manager was ever asked.
func (w *bundleEnv) describeRelay(name string) string {
	w.t.Helper()
	lines := slices.Concat(w.describeBundle(name), w.describeDeliveries(name))
	for _, cluster := range bundleClusters {
		for _, one := range []string{name + "-good", name + "-evil"} {
			lines = append(lines, w.describeRequest(cluster, one))
		}
		asked := 0
		for _, line := range w.requests.testimony("default", name+"-"+cluster) {
			asked += strings.Count(line, "made")
		}
		lines = append(lines, fmt.Sprintf("cert-manager was asked for %s %d times", cluster, asked))
	}
	return strings.Join(lines, "\n")
}

func (w *bundleEnv) describeRequest(cluster, name string) string {
	request := &certificatesv1.CertificateSigningRequest{}
	if err := w.clusters[cluster].Get(w.t.Context(), client.ObjectKey{Name: name}, request); err != nil {
		return wrong + err.Error()
	}
	var conditions []string
	for _, condition := range request.Status.Conditions {
		conditions = append(conditions, fmt.Sprintf("%s (%s)", condition.Type, condition.Reason))
	}
	return fmt.Sprintf("request %s in %s is %v, with a certificate: %t", name, cluster, conditions, len(request.Status.Certificate) > 0)
}
