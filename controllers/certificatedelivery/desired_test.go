package certificatedelivery

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/certificatecontent"
	"github.com/daytwo-dev/daytwo/controllers/internal/clustertemplate"
	"github.com/daytwo-dev/daytwo/controllers/internal/issuance"
	"github.com/daytwo-dev/daytwo/controllers/internal/issuance/issuancetest"
	"github.com/daytwo-dev/daytwo/controllers/internal/keystore"
	"github.com/daytwo-dev/daytwo/controllers/internal/target"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
)

const password = "opensesame-of-the-keystore"

type wantedChange func(*wanted)

// newWanted is what the objects in acme/prod are made from, with a certificate and no targets yet.
func newWanted(t *testing.T, changes ...wantedChange) wanted {
	t.Helper()
	root := issuancetest.Root(t, "root")
	leaf := root.Leaf(t, "prod.example.com")
	found := &issued{Material: issuance.Material{Certificate: leaf.PEM(), PrivateKey: leaf.KeyPEM(t), CA: root.PEM()}}
	w := wanted{issued: found, cluster: clustertemplate.Cluster{ClusterReference: metav1alpha1.ClusterReference{Namespace: "acme", Name: "prod"}}}
	w.Certificate = &certificatesv1alpha1.CertificateTemplate{DNSNames: []string{"prod.example.com"}}
	w.Passwords = map[string][]byte{certificatecontent.PasswordKey("stores", "password"): []byte(password)}
	for _, change := range changes {
		change(&w)
	}
	return w
}

func secretTarget(name string, place certificatesv1alpha1.Placement, changes ...func(*certificatesv1alpha1.SecretTarget)) wantedChange {
	return func(w *wanted) {
		secret := certificatesv1alpha1.SecretTarget{SecretName: name, Placement: place}
		for _, change := range changes {
			change(&secret)
		}
		w.Targets = append(w.Targets, secret)
	}
}

func trustTarget(kind, name string, place certificatesv1alpha1.Placement) wantedChange {
	return func(w *wanted) {
		if w.Trust == nil {
			w.Trust = &certificatecontent.Trust{PEM: "the anchors\n"}
		}
		w.Trust.Targets = append(w.Trust.Targets, certificatesv1alpha1.TrustTarget{Kind: kind, Name: name, Key: "bundle.pem", Placement: place})
	}
}

func in(namespaces ...string) certificatesv1alpha1.Placement {
	return certificatesv1alpha1.Placement{Namespaces: namespaces}
}

func selecting(label, value string) certificatesv1alpha1.Placement {
	return certificatesv1alpha1.Placement{NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{label: value}}}
}

func withCA(secret *certificatesv1alpha1.SecretTarget) { secret.IncludeCA = true }

func withKey(name string, format certificatesv1alpha1.KeyFormat) func(*certificatesv1alpha1.SecretTarget) {
	return func(secret *certificatesv1alpha1.SecretTarget) {
		key := certificatesv1alpha1.SecretKey{Key: name, Format: format}
		if format != certificatesv1alpha1.FormatPEM {
			key.PasswordSecretRef = &metav1alpha1.SecretKeyReference{Name: "stores", Key: "password"}
		}
		secret.Keys = append(secret.Keys, key)
	}
}

func mustDesire(t *testing.T, w wanted) []apply.Declaration {
	t.Helper()
	list, err := desired(w)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// dataOf is what a Secret holds.
func dataOf(t *testing.T, object apply.Declaration) map[string][]byte {
	t.Helper()
	texts, _, err := unstructured.NestedStringMap(object.Object, "data")
	if err != nil {
		t.Fatal(err)
	}
	data := map[string][]byte{}
	for key, text := range texts {
		if data[key], err = base64.StdEncoding.DecodeString(text); err != nil {
			t.Fatal(err)
		}
	}
	return data
}

// placesOf are the objects in a list, as in "Secret shop/web-tls".
func placesOf(list []apply.Declaration) (places []string) {
	for _, object := range list {
		places = append(places, fmt.Sprintf("%s %s/%s", object.GetKind(), object.GetNamespace(), object.GetName()))
	}
	return places
}

func TestASecretHoldsTheCertificateInAllForms(t *testing.T) {
	w := newWanted(t, secretTarget("web-tls", in("shop"), withCA,
		withKey("tls.pem", certificatesv1alpha1.FormatPEM), withKey("store.jks", certificatesv1alpha1.FormatJKS), withKey("store.p12", certificatesv1alpha1.FormatPKCS12)))
	jks, err := keystore.JKS(w.issued.Material, keystore.JKSOptions{Password: password})
	if err != nil {
		t.Fatal(err)
	}
	pkcs12, err := keystore.PKCS12(w.issued.Material, keystore.PKCS12Options{Password: password})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]byte{
		"tls.crt": w.issued.Certificate, "tls.key": w.issued.PrivateKey, "ca.crt": w.issued.CA,
		"tls.pem": append(slices.Clone(w.issued.PrivateKey), w.issued.Certificate...), "store.jks": jks.Keystore, "store.p12": pkcs12.Keystore,
	}
	list := mustDesire(t, w)
	if len(list) != 1 || list[0].Object["type"] != "kubernetes.io/tls" || list[0].GetAPIVersion() != "v1" {
		t.Fatalf("got %v", placesOf(list))
	}
	if data := dataOf(t, list[0]); !maps.EqualFunc(data, want, bytes.Equal) {
		t.Errorf("it holds %v", slices.Sorted(maps.Keys(data)))
	}
	// The same inputs have to give the same objects: each hash that differs is a write, and a restart of pods.
	again := mustDesire(t, w)
	if !maps.EqualFunc(dataOf(t, list[0]), dataOf(t, again[0]), bytes.Equal) {
		t.Error("the second time, it is another one")
	}
}

func TestASecretHoldsNoMoreThanIsAskedFor(t *testing.T) {
	data := dataOf(t, mustDesire(t, newWanted(t, secretTarget("web-tls", in("shop"))))[0])
	if keys := slices.Sorted(maps.Keys(data)); !slices.Equal(keys, []string{"tls.crt", "tls.key"}) {
		t.Errorf("it holds %v", keys)
	}
}

func TestAnchorsAreInEachKindOfObject(t *testing.T) {
	served := func(w *wanted) { w.trustBundles = "v1beta1" }
	list := mustDesire(t, newWanted(t, served, trustTarget("ConfigMap", "anchors", in("shop")), trustTarget("Secret", "anchors", in("shop")), trustTarget("ClusterTrustBundle", "anchors", in())))
	if got := placesOf(list); !slices.Equal(got, []string{"ConfigMap shop/anchors", "Secret shop/anchors", "ClusterTrustBundle /anchors"}) {
		t.Fatalf("got %v", got)
	}
	if text, _, _ := unstructured.NestedString(list[0].Object, "data", "bundle.pem"); text != "the anchors\n" {
		t.Errorf("the ConfigMap holds %q", text)
	}
	if data := dataOf(t, list[1]); string(data["bundle.pem"]) != "the anchors\n" || len(data) != 1 || list[1].Object["type"] != "Opaque" {
		t.Errorf("the Secret holds %v", data)
	}
	if text, _, _ := unstructured.NestedString(list[2].Object, "spec", "trustBundle"); text != "the anchors\n" || list[2].GetAPIVersion() != "certificates.k8s.io/v1beta1" {
		t.Errorf("the ClusterTrustBundle is %v", list[2].Object)
	}
}

func TestAClusterTrustBundleIsLeftOutWhereItIsNotServed(t *testing.T) {
	w := newWanted(t, trustTarget("ClusterTrustBundle", "anchors", in()), trustTarget("ConfigMap", "anchors", in("shop")))
	if got := placesOf(mustDesire(t, w)); !slices.Equal(got, []string{"ConfigMap shop/anchors"}) {
		t.Errorf("got %v", got)
	}
	if told := declaredIn(&observation{Target: &certificatesv1alpha1.CertificateDelivery{}}, w); told.leftOut == "" {
		t.Error("nobody is told")
	}
	w.trustBundles = "v1"
	if told := declaredIn(&observation{Target: &certificatesv1alpha1.CertificateDelivery{}}, w); told.leftOut != "" {
		t.Errorf("it tells %q where it is served", told.leftOut)
	}
}

func TestObjectsAreWhereTheirNamespacesAre(t *testing.T) {
	selected := func(w *wanted) {
		w.namespaces = map[string][]string{"tier=web": {"cart", "shop"}, "tier=none": {}, "<none>": {"cart", "default", "shop"}}
	}
	everywhere := certificatesv1alpha1.Placement{NamespaceSelector: &metav1.LabelSelector{}}
	for name, test := range map[string]struct {
		change wantedChange
		want   []string
	}{
		"as they are named":               {change: secretTarget("a", in("b", "c")), want: []string{"Secret b/a", "Secret c/a"}},
		"as a selector selects":           {change: secretTarget("a", selecting("tier", "web")), want: []string{"Secret cart/a", "Secret shop/a"}},
		"nowhere":                         {change: secretTarget("a", selecting("tier", "none"))},
		"everywhere":                      {change: trustTarget("ConfigMap", "a", everywhere), want: []string{"ConfigMap cart/a", "ConfigMap default/a", "ConfigMap shop/a"}},
		"with the name of their cluster":  {change: secretTarget("{{ .Cluster.Name }}-tls", in("b")), want: []string{"Secret b/prod-tls"}},
		"anchors with that of their kind": {change: trustTarget("Secret", "{{ .Cluster.Namespace }}", in("b")), want: []string{"Secret b/acme"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := placesOf(mustDesire(t, newWanted(t, selected, test.change))); !slices.Equal(got, test.want) {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestPlacementsSayWhoseAnObjectIsAndWhetherItStays(t *testing.T) {
	place := func(conflict certificatesv1alpha1.ConflictPolicy, deletion metav1alpha1.DeletionPolicy) certificatesv1alpha1.Placement {
		return certificatesv1alpha1.Placement{Namespaces: []string{"shop"}, OnConflict: conflict, DeletionPolicy: deletion}
	}
	served := func(w *wanted) { w.trustBundles = "v1" }
	for name, test := range map[string]struct {
		place    certificatesv1alpha1.Placement
		adoption apply.Adoption
		kept     bool
	}{
		"by default":    {place: place("", ""), adoption: apply.AdoptNothing},
		"as it says":    {place: place(certificatesv1alpha1.ConflictFail, metav1alpha1.DeletionPolicyDelete), adoption: apply.AdoptNothing},
		"taken over":    {place: place(certificatesv1alpha1.ConflictAdopt, metav1alpha1.DeletionPolicyDelete), adoption: apply.AdoptFromTools},
		"left behind":   {place: place(certificatesv1alpha1.ConflictFail, metav1alpha1.DeletionPolicyOrphan), adoption: apply.AdoptNothing, kept: true},
		"both of these": {place: place(certificatesv1alpha1.ConflictAdopt, metav1alpha1.DeletionPolicyOrphan), adoption: apply.AdoptFromTools, kept: true},
	} {
		for _, change := range []wantedChange{
			secretTarget("a", test.place), trustTarget("ConfigMap", "a", test.place), trustTarget("Secret", "a", test.place), trustTarget("ClusterTrustBundle", "a", test.place),
		} {
			list := mustDesire(t, newWanted(t, served, change))
			if len(list) != 1 || list[0].Adoption != test.adoption || list[0].Kept != test.kept || list[0].Implied {
				t.Errorf("%s: %v, adoption %v, kept %v", name, placesOf(list), list[0].Adoption, list[0].Kept)
			}
		}
	}
}

func TestWhatCannotBeInAClusterIsRefused(t *testing.T) {
	selected := func(w *wanted) { w.namespaces = map[string][]string{"tier=web": {"shop"}} }
	withoutCA := func(w *wanted) { w.issued.CA = nil }
	lost := func(w *wanted) { w.Passwords = nil }
	long := func(w *wanted) { w.cluster.Name = strings.Repeat("long.name.", 30) + "x" }
	capital := func(w *wanted) { w.cluster.Labels = map[string]string{"tier": "Gold_1"} }
	for name, test := range map[string]struct {
		changes []wantedChange
		hint    string
	}{
		"an authority of which the issuer tells nothing": {changes: []wantedChange{withoutCA, secretTarget("a", in("b"), withCA)}, hint: "spec.targets[0].includeCA: the issuer tells no authority: remove includeCA"},
		"two Secrets that become one":                    {changes: []wantedChange{secretTarget("{{ .Cluster.Name }}", in("b")), secretTarget("prod", in("b"))}, hint: "come to Secret b/prod in this cluster: choose another name"},
		"a Secret of each kind that become one":          {changes: []wantedChange{secretTarget("a", in("shop")), selected, trustTarget("Secret", "a", selecting("tier", "web"))}, hint: "come to Secret shop/a in this cluster"},
		"a name that is none":                            {changes: []wantedChange{capital, secretTarget("{{ .Cluster.Labels.tier }}", in("b"))}, hint: `spec.targets[0].secretName becomes "Gold_1" in this cluster, which is no name`},
		"anchors with a name that is too long":           {changes: []wantedChange{long, trustTarget("ConfigMap", "{{ .Cluster.Name }}", in("b"))}, hint: "spec.trust.targets[0].name becomes"},
		"a label that the cluster does not have":         {changes: []wantedChange{secretTarget("{{ .Cluster.Labels.zone }}", in("b"))}, hint: "spec.targets[0].secretName: TenantCluster acme/prod has no label zone"},
		"a keystore without its password":                {changes: []wantedChange{lost, secretTarget("a", in("b"), withKey("store", certificatesv1alpha1.FormatJKS))}, hint: "spec.targets[0].keys[0]: the password of the keystore is empty"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWanted(t, test.changes...)
			_, err := desired(w)
			var verdict *target.Verdict
			if !errors.As(err, &verdict) || !verdict.Stalled || verdict.Reason != metav1alpha1.ReasonInvalidSpec || !strings.Contains(err.Error(), test.hint) {
				t.Errorf("it ends with %v", err)
			}
			tellsNoSecret(t, w.issued.PrivateKey, err)
		})
	}
}

// tellsNoSecret fails a test if any form of what is told has a line of a key, or a password.
func tellsNoSecret(t *testing.T, key []byte, told ...any) {
	t.Helper()
	for _, one := range told {
		for _, text := range []string{fmt.Sprintf("%v", one), fmt.Sprintf("%+v", one), fmt.Sprintf("%#v", one)} {
			for line := range strings.Lines(string(key)) {
				if line = strings.TrimSpace(line); !strings.HasPrefix(line, "-----") && strings.Contains(text, line) {
					t.Fatalf("a key is told: %s", text)
				}
			}
			if strings.Contains(text, password) || strings.Contains(text, base64.StdEncoding.EncodeToString([]byte(password))) {
				t.Fatalf("a password is told: %s", text)
			}
		}
	}
}

func TestMoreThanFitsIntoMemoryIsRefusedBeforeItIsMade(t *testing.T) {
	place := certificatesv1alpha1.Placement{Namespaces: make([]string, 64)}
	w := wanted{}
	w.Trust = &certificatecontent.Trust{PEM: strings.Repeat("a", 900<<10), Targets: []certificatesv1alpha1.TrustTarget{{Placement: place, Kind: "ConfigMap", Name: "anchors", Key: "ca.crt"}}}
	_, err := desired(w)
	if err == nil || !strings.Contains(err.Error(), "64 objects with 56 MiB") {
		t.Errorf("got %v", err)
	}
}
