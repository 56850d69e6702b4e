package issuing

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
)

// A thousand clusters with three bundles each got their certificates at once. They are renewed over a tenth of the 60 days before
// a renewal is due.
func TestRenewalsAreSpreadOverTheirWindow(t *testing.T) {
	const clusters, bundles = 1000, 3
	unused := 60 * 24 * hour
	perHour := map[int]int{}
	for i := range clusters {
		for j := range bundles {
			key := Key{
				Bundle:  types.NamespacedName{Namespace: "acme", Name: fmt.Sprint("bundle-", j)},
				Cluster: rollout.ClusterKey{Namespace: "acme", Name: fmt.Sprintf("cluster-%04d", i)},
			}
			earlier := spread(key, unused)
			if earlier < 0 || earlier >= unused/spreadPart || earlier%time.Second != 0 {
				t.Fatalf("%s is renewed %s earlier", key, earlier)
			}
			if again := spread(key, unused); again != earlier {
				t.Fatalf("%s is renewed %s earlier, then %s", key, earlier, again)
			}
			perHour[int(earlier/hour)]++
		}
	}
	hours := int(unused / spreadPart / hour)
	share := clusters * bundles / hours
	for at, count := range perHour {
		if count > 3*share {
			t.Errorf("%d are renewed in hour %d, of which each has a share of %d", count, at, share)
		}
	}
	if used := len(perHour); used < hours*9/10 {
		t.Errorf("%d of %d hours are used", used, hours)
	}
}

func TestARenewalComesBeforeItIsDueAndAfterTheCertificateBegins(t *testing.T) {
	for name, test := range map[string]struct {
		duration, renewBefore, wantDuration, wantBefore time.Duration
	}{
		"by default":            {wantDuration: 90 * 24 * hour, wantBefore: 30 * 24 * hour},
		"a third of a duration": {duration: 6 * hour, wantDuration: 6 * hour, wantBefore: 2 * hour},
		"as a person says":      {duration: 6 * hour, renewBefore: 5 * hour, wantDuration: 6 * hour, wantBefore: 5 * hour},
	} {
		t.Run(name, func(t *testing.T) {
			bundle := newBundle(func(c *certificatesv1alpha1.CertificateTemplate) {
				c.Duration = nil
				if test.duration > 0 {
					c.Duration = &metav1.Duration{Duration: test.duration}
				}
				if test.renewBefore > 0 {
					c.RenewBefore = &metav1.Duration{Duration: test.renewBefore}
				}
			})
			duration, renewBefore := Lifetime(bundle.Spec.Certificate)
			if duration != test.wantDuration || renewBefore != test.wantBefore {
				t.Errorf("%s, renewed %s before the end", duration, renewBefore)
			}
			o := newObservation(t, bundle)
			spec := desiredCertificate(o).Object["spec"].(map[string]any)
			asked, err := time.ParseDuration(spec["renewBefore"].(string))
			if err != nil || asked < renewBefore || asked >= duration || spec["duration"] != duration.String() {
				t.Errorf("it asks for %v, renewed %s before its end: %v", spec["duration"], asked, err)
			}
		})
	}
}

func TestWhatCertManagerIsAskedFor(t *testing.T) {
	bundle := newBundle(func(c *certificatesv1alpha1.CertificateTemplate) {
		c.CommonName, c.URIs, c.PrivateKey.Size = "{{ .Cluster.Name }}", []string{"spiffe://acme/{{ .Cluster.Name }}"}, 384
	})
	bundle.Spec.IssuerRef.Kind = "ClusterIssuer"
	o := newObservation(t, bundle)
	certificate := desiredCertificate(o)
	spec := certificate.Object["spec"].(map[string]any)
	delete(spec, "renewBefore") // Another test is about it.
	labels := map[string]any{"daytwo.dev/bundle": "web", "daytwo.dev/cluster": "prod", "daytwo.dev/cluster-namespace": "acme"}
	want := map[string]any{
		"secretName": webKey.name(), "secretTemplate": map[string]any{"labels": labels}, "duration": "2160h0m0s",
		"issuerRef":  map[string]any{"group": "cert-manager.io", "kind": "ClusterIssuer", "name": "ca"},
		"privateKey": map[string]any{"algorithm": "ECDSA", "encoding": "PKCS8", "rotationPolicy": "Always", "size": int64(384)},
		"usages":     []any{"digital signature", "key encipherment", "server auth"}, "revisionHistoryLimit": int64(1),
		"commonName": "prod", "dnsNames": []any{"prod.example.com"}, "uris": []any{"spiffe://acme/prod"},
	}
	if !reflect.DeepEqual(spec, want) {
		t.Errorf("got %v\nwant %v", spec, want)
	}
	if certificate.GetName() != webKey.name() || certificate.GetNamespace() != "acme" || len(certificate.GetOwnerReferences()) != 1 || !isOurs(certificate, webKey) {
		t.Errorf("got %+v", certificate.Object["metadata"])
	}
}

func TestWhatCertManagerSays(t *testing.T) {
	for name, test := range map[string]struct {
		observe []func(*observation)
		want    certificateState
	}{
		"nothing":                    {},
		"it is issued":               {observe: []func(*observation){saying("Ready", "True", "up to date")}, want: certificateState{ready: true, message: "up to date"}},
		"an older one was issued":    {observe: []func(*observation){saying("Ready", "True", "up to date"), outdated}, want: certificateState{message: "up to date"}},
		"it is about to be issued":   {observe: []func(*observation){saying("Ready", "False", "no Secret"), saying("Issuing", "True", "first")}, want: certificateState{issuing: true, message: "no Secret"}},
		"the last try was a failure": {observe: []func(*observation){saying("Issuing", "False", "denied"), saying("Ready", "False", "no Secret")}, want: certificateState{failure: "denied", message: "no Secret"}},
	} {
		t.Run(name, func(t *testing.T) {
			o := newObservation(t, newBundle())
			asked(t)(&o)
			for _, change := range test.observe {
				change(&o)
			}
			if got := stateOf(o.certificate); got != test.want {
				t.Errorf("got %+v", got)
			}
		})
	}
	if got := stateOf(nil); got != (certificateState{}) {
		t.Errorf("of no Certificate it says %+v", got)
	}
}

// cert-manager repeats what issuers say, which may be long and is not trusted.
func TestWhatCertManagerSaysIsCut(t *testing.T) {
	o := newObservation(t, newBundle())
	asked(t)(&o)
	o.certificate.Object["status"] = map[string]any{"conditions": []any{
		"no condition", map[string]any{"type": "Ready", "status": "False", "message": string(make([]byte, 5000))},
		map[string]any{"type": "Issuing", "status": "False", "message": string(make([]byte, 5000))},
	}}
	got := stateOf(o.certificate)
	if most := maxReason + len("…"); len(got.message) > most || len(got.failure) > most || got.failure == "" {
		t.Errorf("%d and %d bytes are told", len(got.message), len(got.failure))
	}
}
