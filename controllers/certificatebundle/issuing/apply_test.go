package issuing

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

// applying is a reconciler over an API server with some objects, and with Certificates.
func applying(t *testing.T, there ...client.Object) *Reconciler {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	scheme.AddKnownTypeWithName(certificateKind, &unstructured.Unstructured{})
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(there...).Build()
	return &Reconciler{Client: c, APIReader: c}
}

func newSecret(t *testing.T) *corev1.Secret {
	t.Helper()
	material, issued := issuedFor(t, "prod.example.com")
	return newIssuance(newBundle(), webKey, material, issued, strings.Repeat("ab", 16), "uid/7")
}

func TestAnIssuanceIsStoredOnce(t *testing.T) {
	secret := newSecret(t)
	r := applying(t)
	for _, source := range []string{"uid/7", "uid/7", "uid/8"} {
		again := secret.DeepCopy()
		again.Annotations[annotationSource] = source
		if err := r.keep(t.Context(), again); err != nil {
			t.Fatal(err)
		}
		found := &corev1.Secret{}
		if err := r.Client.Get(t.Context(), client.ObjectKeyFromObject(secret), found); err != nil {
			t.Fatal(err)
		}
		if found.Annotations[annotationSource] != source || string(found.Data["tls.key"]) != string(secret.Data["tls.key"]) {
			t.Errorf("it is from %s", found.Annotations[annotationSource])
		}
	}
}

func TestASecretInTheWayOfAnIssuanceIsLeftAlone(t *testing.T) {
	for name, change := range map[string]func(*corev1.Secret){
		"of another type":        func(s *corev1.Secret) { s.Type = corev1.SecretTypeOpaque },
		"without any annotation": func(s *corev1.Secret) { s.Annotations = nil },
		"with another's request": func(s *corev1.Secret) { s.Annotations[annotationRequest] = "another" },
	} {
		t.Run(name, func(t *testing.T) {
			secret := newSecret(t)
			blocker := secret.DeepCopy()
			change(blocker)
			r := applying(t, blocker)
			err := r.keep(t.Context(), secret.DeepCopy())
			if err == nil || !strings.Contains(err.Error(), secret.Name+" is in the way of an issuance: delete it") {
				t.Errorf("it ends with %v", err)
			}
			found := &corev1.Secret{}
			if err := r.Client.Get(t.Context(), client.ObjectKeyFromObject(secret), found); err != nil || found.ResourceVersion != "999" {
				t.Errorf("it is at %s, %v", found.ResourceVersion, err)
			}
		})
	}
}

func TestACertificateIsAskedForPutBackAndRemoved(t *testing.T) {
	o := newObservation(t, newBundle())
	r := applying(t)
	live := func() *unstructured.Unstructured {
		found := newCertificate()
		if err := r.Client.Get(t.Context(), webKey.object(webKey.name()), found); err != nil {
			t.Fatal(err)
		}
		return found
	}
	for range 2 { // The second time the cache is behind.
		if err := r.apply(t.Context(), o, newPlan(o)); err != nil {
			t.Fatal(err)
		}
	}
	asked(t)(&o)
	o.certificate = live()
	if err := unstructured.SetNestedField(o.certificate.Object, "evil", "spec", "commonName"); err != nil {
		t.Fatal(err)
	}
	if err := r.Client.Update(t.Context(), o.certificate); err != nil {
		t.Fatal(err)
	}
	o.certificate = live()
	if err := r.apply(t.Context(), o, newPlan(o)); err != nil {
		t.Fatal(err)
	}
	if name, there, _ := unstructured.NestedString(live().Object, "spec", "commonName"); there {
		t.Errorf("the common name is %s", name)
	}
	if err := r.apply(t.Context(), o, newPlan(o)); err == nil {
		t.Error("what somebody else wrote meanwhile is overwritten")
	}
	o.certificate, o.selected, o.needed, o.source = live(), false, false, "gone/1" // Its Secret is gone already.
	if err := r.apply(t.Context(), o, newPlan(o)); err != nil {
		t.Fatal(err)
	}
	if err := r.Client.Get(t.Context(), webKey.object(webKey.name()), newCertificate()); client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("it is still there: %v", err)
	}
}
