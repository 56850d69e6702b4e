package issuing

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	corev1 "k8s.io/api/core/v1"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/issuance"
	"github.com/daytwo-dev/daytwo/controllers/internal/issuance/issuancetest"
)

func TestWhichIssuanceIsCurrent(t *testing.T) {
	until := func(name, request string, left time.Duration) Issuance {
		return Issuance{Name: name, Request: request, NotAfter: now.Add(left)}
	}
	list := []Issuance{until("e", "other", 9*hour), until("d", "r", 8*hour), until("c", "r", 7*hour), until("b", "r", 6*hour), until("a", "r", 0)}
	for name, test := range map[string]struct {
		list       []Issuance
		rollbackTo []string
		request    string
		want       string
	}{
		"the newest of the request":                 {list: list, request: "r", want: "d"},
		"none of another request":                   {list: list, request: "new"},
		"none of none":                              {request: "r"},
		"the one to go back to":                     {list: list, rollbackTo: []string{"b"}, request: "r", want: "b"},
		"the newest of several to go back to":       {list: list, rollbackTo: []string{"b", "c"}, request: "r", want: "c"},
		"one of another request, if it is named":    {list: list, rollbackTo: []string{"e"}, request: "r", want: "e"},
		"the newest where the named one is expired": {list: list, rollbackTo: []string{"a"}, request: "r", want: "d"},
		"the newest where the named one is gone":    {list: list, rollbackTo: []string{"z"}, request: "r", want: "d"},
		"the newest though it is expired":           {list: list[4:], request: "r", want: "a"},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if found := Current(test.list, test.rollbackTo, test.request, now); found != nil {
				got = found.Name
			}
			if got != test.want {
				t.Errorf("%q is current, not %q", got, test.want)
			}
		})
	}
}

func issuedFor(t *testing.T, name string) (issuance.Material, issuance.Issued) {
	t.Helper()
	root := issuancetest.Root(t, "root")
	leaf := root.Leaf(t, name)
	material := issuance.Material{Certificate: leaf.PEM(), PrivateKey: leaf.KeyPEM(t), CA: root.PEM()}
	issued, err := issuance.Check(material, issuance.Request{DNSNames: []string{name}}, now)
	if err != nil {
		t.Fatal(err)
	}
	return material, issued
}

func TestAnIssuanceHasItsKeyInItsDataAlone(t *testing.T) {
	material, issued := issuedFor(t, "prod.example.com")
	secret := newIssuance(newBundle(), webKey, material, issued, strings.Repeat("ab", 16), "uid/7")
	for key, want := range map[string][]byte{"tls.crt": material.Certificate, "tls.key": material.PrivateKey, "ca.crt": material.CA} {
		if string(secret.Data[key]) != string(want) {
			t.Errorf("%s is not what was issued", key)
		}
	}
	for line := range strings.Lines(string(material.PrivateKey)) {
		if told := fmt.Sprintf("%+v", secret.ObjectMeta); strings.Contains(told, strings.TrimSpace(line)) {
			t.Fatalf("the key is in the metadata: %s", told)
		}
	}
	if secret.Type != metav1alpha1.SecretTypeIssuance || secret.Immutable == nil || !*secret.Immutable {
		t.Errorf("it is of type %s, immutable %v", secret.Type, secret.Immutable)
	}
	owner := secret.OwnerReferences
	if len(owner) != 1 || owner[0].Kind != "CertificateBundle" || owner[0].Name != "web" || owner[0].UID != "bundle" {
		t.Errorf("its owners are %+v", owner)
	}
	found, ok := issuanceOf(secret)
	if !ok || !isIssuance(secret) || found.Request != strings.Repeat("ab", 16) || found.Source != "uid/7" ||
		!found.NotBefore.Equal(issued.NotBefore) || !found.NotAfter.Equal(issued.NotAfter) {
		t.Errorf("it is read as %+v, %v", found, ok)
	}
}

func TestAnIssuanceWithoutAuthorityHasNone(t *testing.T) {
	material, issued := issuedFor(t, "prod.example.com")
	material.CA = nil
	if secret := newIssuance(newBundle(), webKey, material, issued, strings.Repeat("ab", 16), "uid/7"); len(secret.Data) != 2 {
		t.Errorf("it has %d keys", len(secret.Data))
	}
}

// Taking the same twice makes one Secret; another certificate or another request makes another.
func TestTheNameOfAnIssuanceFollowsFromCertificateAndRequest(t *testing.T) {
	material, issued := issuedFor(t, "prod.example.com")
	otherMaterial, otherIssued := issuedFor(t, "prod.example.com")
	first, second := strings.Repeat("ab", 16), strings.Repeat("cd", 16)
	name := func(material issuance.Material, issued issuance.Issued, request, source string) string {
		return newIssuance(newBundle(), webKey, material, issued, request, source).Name
	}
	want := name(material, issued, first, "uid/7")
	if again := name(material, issued, first, "uid/8"); again != want {
		t.Errorf("the same is %s and %s", want, again)
	}
	if other := name(material, issued, second, "uid/7"); other == want {
		t.Error("another request has the same name")
	}
	if other := name(otherMaterial, otherIssued, first, "uid/7"); other == want {
		t.Error("another certificate has the same name")
	}
}

func TestWhatIsNotWholeIsNoIssuance(t *testing.T) {
	whole := map[string]string{
		annotationRequest: "r", annotationSource: "s", annotationNotBefore: "2026-03-01T12:00:00Z", annotationNotAfter: "2026-04-01T12:00:00Z",
	}
	for name, change := range map[string]func(map[string]string){
		"without a request": func(a map[string]string) { delete(a, annotationRequest) },
		"without a start":   func(a map[string]string) { delete(a, annotationNotBefore) },
		"with another end":  func(a map[string]string) { a[annotationNotAfter] = "soon" },
	} {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{}}}
		for key, value := range whole {
			secret.Annotations[key] = value
		}
		if _, ok := issuanceOf(secret); !ok {
			t.Fatal("a whole one is none")
		}
		change(secret.Annotations)
		if _, ok := issuanceOf(secret); ok {
			t.Errorf("one %s is one", name)
		}
	}
}

func TestIssuancesAreListedNewestFirstForOneCertificateAlone(t *testing.T) {
	secret := func(name string, key Key, from time.Time, annotations map[string]string) client.Object {
		made := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: webKey.name() + "-" + name, Labels: key.labels(), Annotations: map[string]string{
			annotationRequest: "r", annotationNotBefore: from.Format(time.RFC3339), annotationNotAfter: from.Add(hour).Format(time.RFC3339),
		}}}
		if annotations != nil {
			made.Annotations = annotations
		}
		return made
	}
	other := webKey
	other.Cluster.Name = "staging"
	// Somebody copied an issuance to a name of their own: it is not Daytwo's.
	another := secret("", webKey, now.Add(2*hour), nil)
	another.SetName("copy")
	byKey := func(object client.Object) []string {
		key, ok := keyFromLabels(object)
		if !ok {
			return nil
		}
		return []string{key.String()}
	}
	cached := fake.NewClientBuilder().WithIndex(&corev1.Secret{}, indexKey, byKey).WithObjects(
		secret("b", webKey, now, nil), secret("a", webKey, now, nil), secret("older", webKey, now.Add(-hour), nil), secret("newer", webKey, now.Add(hour), nil),
		secret("other", other, now, nil), another, secret("source", webKey, now, map[string]string{"cert-manager.io/certificate-name": "web"}),
	).Build()
	list, err := List(t.Context(), cached, webKey)
	var names []string
	for _, one := range list {
		names = append(names, strings.TrimPrefix(one.Name, webKey.name()+"-"))
	}
	if err != nil || !slices.Equal(names, []string{"newer", "a", "b", "older"}) {
		t.Errorf("listed %v, %v", names, err)
	}
}

func TestARequestIsToldFromAnother(t *testing.T) {
	hash := func(bundle *certificatesv1alpha1.CertificateBundle) string {
		o := newObservation(t, bundle)
		return o.requestHash()
	}
	same := hash(newBundle())
	for name, changes := range map[string]templateChange{
		"another name": func(c *certificatesv1alpha1.CertificateTemplate) { c.DNSNames = []string{"a.example.com"} },
		"a kind of names": func(c *certificatesv1alpha1.CertificateTemplate) {
			c.EmailAddresses, c.DNSNames = c.DNSNames, nil
		},
		"another key": func(c *certificatesv1alpha1.CertificateTemplate) { c.PrivateKey.Algorithm = "RSA" },
		"another usage": func(c *certificatesv1alpha1.CertificateTemplate) {
			c.Usages = []certificatesv1alpha1.KeyUsage{"client auth"}
		},
	} {
		if hash(newBundle(changes)) == same {
			t.Errorf("%s is the same request", name)
		}
	}
	longer := func(c *certificatesv1alpha1.CertificateTemplate) { c.Duration = &metav1.Duration{Duration: 24 * hour} }
	if hash(newBundle(longer)) != same {
		t.Error("a certificate that is valid for longer is as it is asked for no more")
	}
	another := newBundle()
	another.Spec.IssuerRef.Name = "another"
	if hash(another) == same {
		t.Error("another issuer is the same request")
	}
}

// cert-manager issues twice within a second where somebody edits a bundle twice.
func TestOfOneSecondTheLastOneThatWasTakenIsTheNewest(t *testing.T) {
	from := func(name, source string) Issuance { return Issuance{Name: name, Source: source, NotBefore: now} }
	list := []Issuance{from("a", "uid/9"), from("b", "uid/10"), from("c", "unknown"), from("d", "uid/8")}
	slices.SortFunc(list, newestFirst)
	order := ""
	for _, one := range list {
		order += one.Name
	}
	if order != "badc" {
		t.Errorf("the order is %s", order)
	}
}
