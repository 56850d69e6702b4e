package relay

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/issuance"
	"github.com/daytwo-dev/daytwo/controllers/internal/issuance/issuancetest"
)

type policyEdit = func(*certificatesv1alpha1.RequestPolicy)

func named(t testing.TB, template x509.CertificateRequest) func(*request) {
	return func(r *request) { r.pem = pemFor(t, issuancetest.NewKey(t), &template) }
}

func TestRequestsThatAreDenied(t *testing.T) {
	small, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	good := &x509.CertificateRequest{DNSNames: []string{allowed}}
	for name, row := range map[string]struct {
		edit   func(*request)
		policy policyEdit
		reason string
		words  []string
	}{
		"a name of another cluster": {edit: named(t, x509.CertificateRequest{DNSNames: []string{"web.test.example.com"}}), reason: reasonNameNotAllowed,
			words: []string{`"web.test.example.com"`, "*.prod.example.com", "spec.requestPolicy.dnsNames"}},
		"one name of two":      {edit: named(t, x509.CertificateRequest{DNSNames: []string{allowed, "evil.test"}}), reason: reasonNameNotAllowed, words: []string{"evil.test"}},
		"two labels more":      {edit: named(t, x509.CertificateRequest{DNSNames: []string{"a." + allowed}}), reason: reasonNameNotAllowed},
		"no label more":        {edit: named(t, x509.CertificateRequest{DNSNames: []string{"prod.example.com"}}), reason: reasonNameNotAllowed},
		"a wildcard too deep":  {edit: named(t, x509.CertificateRequest{DNSNames: []string{"*." + allowed}}), reason: reasonNameNotAllowed},
		"an address":           {edit: named(t, x509.CertificateRequest{DNSNames: []string{allowed}, IPAddresses: []net.IP{net.ParseIP("10.0.0.1")}}), reason: reasonNameNotAllowed, words: []string{"none is", "ipAddresses"}},
		"another common name":  {edit: named(t, x509.CertificateRequest{Subject: pkix.Name{CommonName: "admin"}, DNSNames: []string{allowed}}), reason: reasonNameNotAllowed, words: []string{"commonNames"}},
		"a common name alone":  {edit: named(t, x509.CertificateRequest{Subject: pkix.Name{CommonName: allowed}}), reason: reasonNameNotAllowed},
		"no name":              {edit: named(t, x509.CertificateRequest{}), reason: reasonNameNotAllowed, words: []string{"no name"}},
		"an organization":      {edit: named(t, x509.CertificateRequest{Subject: pkix.Name{Organization: []string{"system:masters"}}, DNSNames: []string{allowed}}), reason: issuance.ReasonSubjectRefused},
		"no usage":             {edit: func(r *request) { r.usages = nil }, reason: reasonUsageNotAllowed, words: []string{"spec.usages"}},
		"another usage":        {edit: func(r *request) { r.usages = append(r.usages, "client auth") }, reason: reasonUsageNotAllowed, words: []string{"client auth", "spec.requestPolicy.usages"}},
		"a CA's usage":         {edit: func(r *request) { r.usages = []string{"cert sign"} }, reason: reasonUsageNotAllowed},
		"a usage in the bytes": {edit: named(t, x509.CertificateRequest{DNSNames: []string{allowed}, ExtraExtensions: []pkix.Extension{{Id: []int{2, 5, 29, 37}, Value: []byte{0x30, 0x0a, 0x06, 0x08, 0x2b, 6, 1, 5, 5, 7, 3, 2}}}}), reason: reasonUsageNotAllowed, words: []string{"client auth"}},
		"a small key": {edit: func(r *request) { r.pem = pemFor(t, small, good) }, policy: func(p *certificatesv1alpha1.RequestPolicy) {
			p.Keys = []certificatesv1alpha1.AllowedKey{{Algorithm: "RSA", MinSize: 3072}}
		}, reason: reasonKeyNotAllowed, words: []string{"2048", "3072"}},
		"a key of another algorithm": {edit: func(r *request) { r.pem = pemFor(t, edwards, good) }, policy: func(p *certificatesv1alpha1.RequestPolicy) {
			p.Keys = []certificatesv1alpha1.AllowedKey{{Algorithm: "ECDSA"}}
		}, reason: reasonKeyNotAllowed, words: []string{"Ed25519"}},
		"another user": {policy: func(p *certificatesv1alpha1.RequestPolicy) {
			p.Requestors = &certificatesv1alpha1.Requestors{Usernames: []string{"system:serviceaccount:shop:"}, Groups: []string{"shop"}, ServiceAccountNamespaces: []string{"sho"}}
		}, reason: reasonRequestorNotAllowed, words: []string{"system:serviceaccount:shop:web", "spec.requestPolicy.requestors"}},
		"no PEM":        {edit: func(r *request) { r.pem = []byte("hello") }, reason: issuance.ReasonNotPEM},
		"1 MiB":         {edit: func(r *request) { r.pem = bytes.Repeat([]byte("x"), 1<<20) }, reason: issuance.ReasonTooLarge, words: []string{"1048576"}},
		"what was left": {edit: func(r *request) { r.pem, r.oversize = nil, 1<<20 }, reason: issuance.ReasonTooLarge, words: []string{"1048576"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRequest(t, "one")
			if row.edit != nil {
				row.edit(&r)
			}
			_, got := check(r, newPolicy(t, row.policy))
			if got == nil || got.reason != row.reason || !strings.Contains(got.message, ": ") || len(got.message) > maxMessage+3 {
				t.Fatalf("got %+v, want %s and a way out", got, row.reason)
			}
			for _, word := range row.words {
				if !strings.Contains(got.message, word) {
					t.Errorf("it says %q, without %q", got.message, word)
				}
			}
		})
	}
}

func TestRequestsThatAreAllowed(t *testing.T) {
	for name, row := range map[string]struct {
		edit     func(*request)
		policy   policyEdit
		duration time.Duration
	}{
		"as they are":        {duration: defaultDuration},
		"for a shorter time": {edit: func(r *request) { r.expiration = time.Hour }, duration: time.Hour},
		"for a longer time, shortened": {edit: func(r *request) { r.expiration = 365 * 24 * time.Hour }, policy: func(p *certificatesv1alpha1.RequestPolicy) {
			p.MaxDuration = &metav1.Duration{Duration: 24 * time.Hour}
		}, duration: 24 * time.Hour},
		"for a wildcard":                      {edit: named(t, x509.CertificateRequest{DNSNames: []string{"*.prod.example.com"}}), duration: defaultDuration},
		"with a common name among the others": {edit: named(t, x509.CertificateRequest{Subject: pkix.Name{CommonName: allowed}, DNSNames: []string{allowed}}), duration: defaultDuration},
		"with a common name": {edit: named(t, x509.CertificateRequest{Subject: pkix.Name{CommonName: "shop"}}),
			policy: func(p *certificatesv1alpha1.RequestPolicy) { p.CommonNames = []string{"shop"} }, duration: defaultDuration},
		"by a ServiceAccount of a namespace": {policy: func(p *certificatesv1alpha1.RequestPolicy) {
			p.Requestors = &certificatesv1alpha1.Requestors{ServiceAccountNamespaces: []string{"shop"}}
		}, duration: defaultDuration},
		"by a group": {policy: func(p *certificatesv1alpha1.RequestPolicy) {
			p.Requestors = &certificatesv1alpha1.Requestors{Groups: []string{"system:authenticated"}}
		}, duration: defaultDuration},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRequest(t, "one")
			if row.edit != nil {
				row.edit(&r)
			}
			got, refused := check(r, newPolicy(t, row.policy))
			if refused != nil {
				t.Fatalf("it is denied: %+v", refused)
			}
			if got.duration != row.duration || !slices.Equal(got.Usages, []string{"digital signature", "server auth"}) || got.public == nil {
				t.Errorf("it asks for %+v", got)
			}
		})
	}
}

func TestAPolicyThatCannotBeMadeForACluster(t *testing.T) {
	for _, edit := range []policyEdit{
		func(p *certificatesv1alpha1.RequestPolicy) {
			p.DNSNames = []string{"*.{{ .Cluster.Labels.zone }}.example.com"}
		},
		func(p *certificatesv1alpha1.RequestPolicy) { p.IPAddresses = []string{"{{ .Cluster.Name }}"} },
	} {
		content := relayWith(edit)
		if found, err := policyFor(signer, content, prod()); err == nil || !strings.Contains(err.Error(), "spec.requestPolicy.") {
			t.Errorf("got %+v, %v", found, err)
		}
	}
}
