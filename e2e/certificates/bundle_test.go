package certificates

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
)

// TestEachClusterGetsACertificateOfItsOwn is the life of a bundle in two clusters.
func TestEachClusterGetsACertificateOfItsOwn(t *testing.T) {
	t.Parallel()
	s := newSuite(t, "own")
	s.createIssuer()
	bundle := s.create(s.bundle("workload-1", "workload-2"))
	s.awaitReady(bundle)

	keys := map[string]bool{}
	for _, cluster := range []string{"workload-1", "workload-2"} {
		secret := s.awaitSecret(cluster, "ingress", anySecret)
		leaf := leafOf(t, secret)
		if want := "*." + cluster + ".gold.test"; !slices.Equal(leaf.DNSNames, []string{want}) {
			t.Errorf("the certificate of %s is for %v, not for %s", cluster, leaf.DNSNames, want)
		}
		if secret.Type != corev1.SecretTypeTLS {
			t.Errorf("the Secret in %s is of type %s", cluster, secret.Type)
		}
		keys[string(secret.Data["tls.key"])] = true
		s.checkDelivery(bundle, cluster, leaf)
	}
	if len(keys) != 2 {
		t.Error("the clusters have one key")
	}
	for _, kind := range []string{certificatesv1alpha1.ConditionIssued, certificatesv1alpha1.ConditionDistributed} {
		s.awaitCondition(bundle, kind, metav1.ConditionTrue, kind)
	}
	if bundle.Status.ReadyClusters != "2/2" || bundle.Status.Expires == nil {
		t.Errorf("the status says %s clusters, and that the first expires at %v", bundle.Status.ReadyClusters, bundle.Status.Expires)
	}
	t.Run("what somebody deletes or edits is put back with the same key", func(t *testing.T) { s.with(t).testDrift() })
	t.Run("no key is told anywhere", func(t *testing.T) { s.with(t).testSecrecy(bundle) })
	t.Run("a manager that is killed issues nothing anew", func(t *testing.T) { s.with(t).testRestart(bundle) })
	t.Run("a cluster that is not selected any more loses what was made for it", func(t *testing.T) { s.with(t).testUnselected(bundle) })
	t.Run("nothing is left of a bundle that is deleted", func(t *testing.T) { s.with(t).testDeletion(bundle) })
}

// with is the suite in a part of its test.
func (s *suite) with(t *testing.T) *suite { return &suite{T: t, name: s.name} }

// checkDelivery compares what a delivery tells with what is in the cluster.
func (s *suite) checkDelivery(bundle *certificatesv1alpha1.CertificateBundle, cluster string, leaf *x509.Certificate) {
	s.Helper()
	delivery, err := s.delivery(s.Context(), bundle, cluster)
	must(s, err)
	told := delivery.Status.Certificate
	if told == nil || !told.NotAfter.Time.Equal(leaf.NotAfter) || told.SerialNumber == "" || told.Issuance != delivery.Spec.Content {
		s.Errorf("the delivery in %s tells of %+v; the certificate expires at %s", cluster, told, leaf.NotAfter)
	}
	if delivery.Status.Acknowledged == nil || delivery.Status.Acknowledged.Generation != delivery.Generation {
		s.Errorf("the delivery in %s was acknowledged as %+v", cluster, delivery.Status.Acknowledged)
	}
}

func (s *suite) testDrift() {
	workload := s.workload("workload-1")
	before := s.awaitSecret("workload-1", "ingress", anySecret)
	must(s, workload.Delete(s.Context(), before.DeepCopy()))
	again := s.awaitSecret("workload-1", "ingress", equals(before))
	if again.UID == before.UID {
		s.Error("it was not deleted")
	}
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"data":{"tls.key":"Zm9yZWlnbg==","more":"bW9yZQ=="}}`))
	must(s, workload.Patch(s.Context(), again, patch, client.FieldOwner("kubectl-edit")))
	s.awaitSecret("workload-1", "ingress", equals(before))
}

// testSecrecy looks for keys in what the manager tells.
func (s *suite) testSecrecy(bundle *certificatesv1alpha1.CertificateBundle) {
	var told bytes.Buffer
	add := func(object any) {
		text, err := yaml.Marshal(object)
		must(s, err)
		told.Write(text)
	}
	for _, list := range []client.ObjectList{
		&certificatesv1alpha1.CertificateBundleList{}, &certificatesv1alpha1.CertificateDeliveryList{}, &eventsv1.EventList{},
	} {
		must(s, env.Admin.List(s.Context(), list, client.InNamespace(customer)))
		add(list)
	}
	log, err := os.ReadFile(env.Manager.LogPath())
	must(s, err)
	told.Write(log)
	if !bytes.Contains(told.Bytes(), []byte(bundle.Name)) {
		s.Fatal("nothing is told of the bundle, so nothing is shown here")
	}
	for _, cluster := range []string{"workload-1", "workload-2"} {
		secret := s.awaitSecret(cluster, "ingress", anySecret)
		for line := range strings.Lines(string(secret.Data["tls.key"])) {
			line = strings.TrimSpace(line)
			if len(line) > 20 && !strings.HasPrefix(line, "-----") && bytes.Contains(told.Bytes(), []byte(line)) {
				s.Errorf("a line of the key of %s is told", cluster)
			}
		}
	}
}

// testRestart ends the manager, and looks whether the next one changes anything that is there.
func (s *suite) testRestart(bundle *certificatesv1alpha1.CertificateBundle) {
	before := s.awaitSecret("workload-1", "ingress", anySecret)
	known := s.issuances(s.Context(), bundle.Name)
	s.withoutManager(func() {})
	// The next manager works again once it takes something back.
	must(s, s.workload("workload-1").Delete(s.Context(), before.DeepCopy()))
	s.awaitSecret("workload-1", "ingress", equals(before))
	s.awaitReady(bundle)
	if now := s.issuances(s.Context(), bundle.Name); len(now) != len(known) {
		s.Errorf("there are %d issuances, and were %d", len(now), len(known))
	}
}

func (s *suite) testUnselected(bundle *certificatesv1alpha1.CertificateBundle) {
	s.change(bundle, func(b *certificatesv1alpha1.CertificateBundle) { b.Spec.ClusterNames = []string{"workload-1"} })
	s.awaitGone("the Secret in workload-2", func(ctx context.Context) error {
		_, err := s.secret(ctx, "workload-2", "ingress")
		return err
	})
	s.awaitNothingFor(bundle, client.MatchingLabels{metav1alpha1.LabelBundle: bundle.Name, metav1alpha1.LabelCluster: "workload-2"})
	s.awaitReady(bundle)
	s.awaitSecret("workload-1", "ingress", anySecret)
}

func (s *suite) testDeletion(bundle *certificatesv1alpha1.CertificateBundle) {
	must(s, env.Admin.Delete(s.Context(), bundle))
	s.awaitGone("the bundle", func(ctx context.Context) error {
		return env.Admin.Get(ctx, client.ObjectKeyFromObject(bundle), &certificatesv1alpha1.CertificateBundle{})
	})
	s.awaitGone("the Secret in workload-1", func(ctx context.Context) error {
		_, err := s.secret(ctx, "workload-1", "ingress")
		return err
	})
	s.awaitNothingFor(bundle, client.MatchingLabels{metav1alpha1.LabelBundle: bundle.Name})
}

// awaitNothingFor waits until neither a Certificate nor a Secret with the labels is left in the management cluster.
func (s *suite) awaitNothingFor(bundle *certificatesv1alpha1.CertificateBundle, labels client.MatchingLabels) {
	s.Helper()
	expect.Eventually(s, "nothing of "+bundle.Name+" is left in the management cluster", func(ctx context.Context) error {
		certificates := &unstructured.UnstructuredList{}
		certificates.SetGroupVersionKind(schema.GroupVersionKind{Group: "cert-manager.io", Version: "v1", Kind: "CertificateList"})
		secrets := &corev1.SecretList{}
		err := errors.Join(env.Admin.List(ctx, certificates, client.InNamespace(customer), labels), env.Admin.List(ctx, secrets, client.InNamespace(customer), labels))
		if err != nil {
			return err
		}
		if len(certificates.Items)+len(secrets.Items) > 0 {
			return fmt.Errorf("%d Certificates and %d Secrets are", len(certificates.Items), len(secrets.Items))
		}
		return nil
	})
}

func TestARenewalReachesTheCluster(t *testing.T) {
	t.Parallel()
	s := newSuite(t, "renewal")
	s.createIssuer()
	bundle := s.bundle("workload-1")
	bundle.Spec.HistoryLimit = 2
	s.create(bundle)
	s.awaitReady(bundle)
	first := s.awaitSecret("workload-1", "ingress", anySecret)
	delivery, err := s.delivery(t.Context(), bundle, "workload-1")
	must(t, err)
	firstIssuance := delivery.Spec.Content

	last := first
	for range 3 {
		s.reissue(bundle, "workload-1")
		last = s.awaitSecret("workload-1", "ingress", differs(last))
		leafOf(t, last)
	}
	expect.Eventually(t, "two issuances are kept", func(ctx context.Context) error {
		if kept := s.issuances(ctx, bundle.Name); len(kept) != 2 {
			return fmt.Errorf("there are %d", len(kept))
		}
		return nil
	})
	err = env.Admin.Get(t.Context(), client.ObjectKey{Namespace: customer, Name: firstIssuance}, &corev1.Secret{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("the first issuance with its key is there: %v", err)
	}

	// Back to the one before, and forward again.
	delivery, err = s.delivery(t.Context(), bundle, "workload-1")
	must(t, err)
	var older string
	for _, kept := range s.issuances(t.Context(), bundle.Name) {
		if kept.Name != delivery.Spec.Content {
			older = kept.Name
		}
	}
	s.change(bundle, func(b *certificatesv1alpha1.CertificateBundle) { b.Spec.RollbackTo = []string{older} })
	back := s.awaitSecret("workload-1", "ingress", differs(last))
	s.awaitReady(bundle)
	s.change(bundle, func(b *certificatesv1alpha1.CertificateBundle) { b.Spec.RollbackTo = nil })
	s.awaitSecret("workload-1", "ingress", equals(last))
	if bytes.Equal(back.Data["tls.crt"], last.Data["tls.crt"]) {
		t.Error("the rollback changed nothing")
	}
}

// Names and targets that change together reach a cluster together, once the certificate for the new names is there.
func TestANewNameComesWithItsCertificate(t *testing.T) {
	t.Parallel()
	s := newSuite(t, "names")
	s.createIssuer()
	bundle := s.create(s.bundle("workload-1"))
	s.awaitReady(bundle)
	before := s.awaitSecret("workload-1", "ingress", anySecret)

	// An issuer that is not there issues nothing. What the cluster has stays.
	s.change(bundle, func(b *certificatesv1alpha1.CertificateBundle) {
		b.Spec.IssuerRef.Name = "nobody"
		b.Spec.Certificate.DNSNames = append(b.Spec.Certificate.DNSNames, "more.test")
	})
	s.awaitCondition(bundle, certificatesv1alpha1.ConditionIssued, metav1.ConditionFalse, certificatesv1alpha1.ReasonIssuancePending)
	must(t, s.workload("workload-1").Delete(t.Context(), before.DeepCopy()))
	s.awaitSecret("workload-1", "ingress", equals(before))

	s.change(bundle, func(b *certificatesv1alpha1.CertificateBundle) { b.Spec.IssuerRef.Name = s.name })
	s.awaitReady(bundle)
	after := s.awaitSecret("workload-1", "ingress", differs(before))
	if leaf := leafOf(t, after); !slices.Contains(leaf.DNSNames, "more.test") {
		t.Errorf("the certificate is for %v", leaf.DNSNames)
	}
}

func TestASecretOfSomebodyElseIsLeftAlone(t *testing.T) {
	t.Parallel()
	s := newSuite(t, "foreign")
	s.createIssuer()
	theirs := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.name, Name: "ingress"}, Type: corev1.SecretTypeTLS, Data: map[string][]byte{"tls.crt": []byte("theirs"), "tls.key": []byte("theirs")}}
	must(t, s.workload("workload-3").Create(t.Context(), theirs, client.FieldOwner("kubectl-create")))
	bundle := s.create(s.bundle("workload-3"))
	s.awaitCondition(bundle, metav1alpha1.ConditionReady, metav1.ConditionFalse, metav1alpha1.ReasonTargetsFailed)
	delivery, err := s.delivery(t.Context(), bundle, "workload-3")
	must(t, err)
	must(t, expect.Condition(delivery.Status.Conditions, metav1alpha1.ConditionReady, metav1.ConditionFalse, metav1alpha1.ReasonConflict))
	for _, condition := range delivery.Status.Conditions {
		if condition.Type == metav1alpha1.ConditionReady && (!strings.Contains(condition.Message, "kubectl-create") || !strings.Contains(condition.Message, "onConflict: Adopt")) {
			t.Errorf("Ready says %q", condition.Message)
		}
	}
	now, err := s.secret(t.Context(), "workload-3", "ingress")
	must(t, err)
	if now.ResourceVersion != theirs.ResourceVersion {
		t.Error("the Secret of somebody else was written to")
	}

	s.change(bundle, func(b *certificatesv1alpha1.CertificateBundle) {
		b.Spec.Targets[0].OnConflict = certificatesv1alpha1.ConflictAdopt
	})
	s.awaitReady(bundle)
	leafOf(t, s.awaitSecret("workload-3", "ingress", differs(theirs)))
}

func TestNamespacesThatComeLaterGetTheirSecret(t *testing.T) {
	t.Parallel()
	s := newSuite(t, "selected")
	s.createIssuer()
	labels := map[string]string{"certificates": s.name}
	s.createNamespace("workload-2", s.name+"-first", labels)
	bundle := s.bundle("workload-2")
	bundle.Spec.Targets[0].Placement = certificatesv1alpha1.Placement{NamespaceSelector: &metav1.LabelSelector{MatchLabels: labels}}
	bundle.Spec.Targets[0].SecretName = "of-{{ .Cluster.Name }}"
	s.create(bundle)
	s.awaitReady(bundle)
	in := func(namespace string) func(context.Context) error {
		return func(ctx context.Context) error {
			return s.workload("workload-2").Get(ctx, client.ObjectKey{Namespace: namespace, Name: "of-workload-2"}, &corev1.Secret{})
		}
	}
	must(t, in(s.name+"-first")(t.Context()))
	s.createNamespace("workload-2", s.name+"-second", labels)
	expect.Eventually(t, "the second namespace has its Secret", in(s.name+"-second"))
	s.awaitReady(bundle)

	// The label goes, and with it the Secret.
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"certificates":null}}}`))
	must(t, s.workload("workload-2").Patch(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.name + "-first"}}, patch))
	s.awaitGone("the Secret in the first namespace", in(s.name+"-first"))
	must(t, in(s.name+"-second")(t.Context()))
}

// A sharedKey bundle has one Certificate, whatever the number of clusters.
func TestClustersShareAKeyOnlyIfTheBundleSaysSo(t *testing.T) {
	t.Parallel()
	s := newSuite(t, "shared")
	s.createIssuer()
	bundle := s.bundle(clusters()...)
	bundle.Spec.SharedKey = true
	bundle.Spec.Certificate.DNSNames = []string{"shared.test"}
	s.create(bundle)
	s.awaitReady(bundle)
	first := s.awaitSecret("workload-1", "ingress", anySecret)
	leafOf(t, first)
	for _, cluster := range clusters() {
		s.awaitSecret(cluster, "ingress", equals(first))
	}
	if kept := s.issuances(t.Context(), bundle.Name); len(kept) != 1 {
		t.Errorf("%d issuances were made", len(kept))
	}
}
