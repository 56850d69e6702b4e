package fleet

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"slices"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/bounded"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

// phases keeps the phase of a ConfigMap, and takes those that are done for spent.
type phases struct{}

func (phases) Reduce(object *unstructured.Unstructured) bool {
	phase, _, _ := unstructured.NestedString(object.Object, "data", "phase")
	object.Object = map[string]any{"metadata": map[string]any{"namespace": object.GetNamespace(), "name": object.GetName()}, "phase": phase}
	return phase == "Done"
}

func (s *selected) see(name, phase string) {
	content := &unstructured.Unstructured{Object: map[string]any{"data": map[string]any{"phase": phase}}}
	content.SetName(name)
	s.put(&bounded.WholeObject{PartialObjectMetadata: &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name}}, Content: content})
}

func TestSpentObjectsGiveWay(t *testing.T) {
	kept := newSelected(Selection{Limit: 3, Reducer: phases{}})
	for i := range 10 {
		kept.see(fmt.Sprintf("old-%d", i), "Done")
	}
	if kept.incomplete || len(kept.objects) != 3 || kept.spent != 3 {
		t.Fatalf("%d are kept, %d of them spent; incomplete: %t", len(kept.objects), kept.spent, kept.incomplete)
	}
	for _, name := range []string{"a", "b", "c"} {
		if !kept.wants(types.NamespacedName{Name: name}) {
			t.Errorf("%s is not wanted in the place of one that is spent", name)
		}
		kept.see(name, "New")
	}
	if kept.incomplete || len(kept.objects) != 3 || kept.spent != 0 {
		t.Errorf("%d are kept, %d of them spent; incomplete: %t", len(kept.objects), kept.spent, kept.incomplete)
	}
	kept.see("late", "Done")
	if kept.incomplete || len(kept.objects) != 3 {
		t.Errorf("one that is spent is missed")
	}
	if kept.wants(types.NamespacedName{Name: "d"}) || !kept.incomplete {
		t.Error("there is room for a fourth one")
	}
	kept.see("a", "Done")
	if kept.spent != 1 || !kept.wants(types.NamespacedName{Name: "d"}) {
		t.Error("one that is spent makes no room")
	}
	kept.remove(types.NamespacedName{Name: "a"})
	if kept.spent != 0 || len(kept.objects) != 2 {
		t.Errorf("%d are kept, %d of them spent", len(kept.objects), kept.spent)
	}
}

// What does not fit comes to be seen once others are spent, though no watch tells of it again.
func TestObjectsBeyondTheLimitAreSeenWhenOthersAreSpent(t *testing.T) {
	t.Parallel()
	r := newRig(t, timeouts())
	namespace := r.backups()
	for _, name := range []string{"a", "b", "c"} {
		r.backup(namespace, name, "daily")
	}
	o := r.observes(shared.access(hostOf(t, shared.first)), Selection{Kind: configMapKind, Namespace: namespace, Selector: "schedule=daily", Limit: 2, Reducer: phases{}})
	seen := map[string]bool{}
	o.eventually("all three were seen", func() bool {
		for _, object := range o.observed().Objects {
			if object.Object["phase"] == "Done" {
				continue
			}
			seen[object.GetName()] = true
			config, err := r.admin.CoreV1().ConfigMaps(namespace).Get(t.Context(), object.GetName(), metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if config.Data["phase"] = "Done"; err == nil {
				_, err = r.admin.CoreV1().ConfigMaps(namespace).Update(t.Context(), config, metav1.UpdateOptions{})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		return len(seen) == 3
	})
	o.eventually("it is complete", func() bool { return !o.observed().Incomplete })
}

var signingRequestKind = schema.GroupVersionKind{Group: "certificates.k8s.io", Version: "v1", Kind: "CertificateSigningRequest"}

// signingRequest is a request that an API server takes.
func (r *rig) signingRequest(name, signer string) *certificatesv1.CertificateSigningRequest {
	r.Helper()
	made, err := r.admin.CertificatesV1().CertificateSigningRequests().Create(r.Context(), &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       certificatesv1.CertificateSigningRequestSpec{Request: newSigningRequest(r), SignerName: signer, Usages: []certificatesv1.KeyUsage{"server auth"}},
	}, metav1.CreateOptions{})
	if err != nil {
		r.Fatal(err)
	}
	return made
}

func TestObjectsAreObservedByTheirFieldsAndAnsweredInASubresource(t *testing.T) {
	t.Parallel()
	r := newRig(t, timeouts())
	ours := r.signingRequest("ours", "daytwo.dev/ours")
	r.signingRequest("theirs", "daytwo.dev/theirs")
	o := r.observes(shared.access(hostOf(t, shared.first)), Selection{Kind: signingRequestKind, Fields: "spec.signerName=daytwo.dev/ours", Limit: 10})
	o.awaits("ours")
	r.signingRequest("theirs-later", "daytwo.dev/theirs")
	r.signingRequest("ours-later", "daytwo.dev/ours")
	o.awaits("ours", "ours-later")

	ref := objects.Ref{GroupVersionKind: signingRequestKind, Name: "ours"}
	denial := []byte(`[{"op":"add","path":"/status/conditions","value":[{"type":"Denied","status":"True","reason":"r"}]}]`)
	if _, err := o.cluster.PatchSubresource(t.Context(), ref, "another", "approval", denial); err == nil {
		t.Error("a request with another UID is answered")
	}
	if _, err := o.cluster.PatchSubresource(t.Context(), ref, ours.UID, "approval", denial); err != nil {
		t.Fatal(err)
	}
	now, err := r.admin.CertificatesV1().CertificateSigningRequests().Get(t.Context(), "ours", metav1.GetOptions{})
	if err != nil || len(now.Status.Conditions) != 1 || !slices.Equal(now.Spec.Request, ours.Spec.Request) {
		t.Errorf("%v: %+v", err, now)
	}
}

func newSigningRequest(t testing.TB) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{DNSNames: []string{"shop.test"}}, key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
}
