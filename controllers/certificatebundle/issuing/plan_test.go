package issuing

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/issuance/issuancetest"
	"github.com/daytwo-dev/daytwo/controllers/internal/optionalkind"
)

// done is what a plan does, in short.
type done struct {
	creates, updates, keeps, removes bool
	secrets                          []string
	reason                           string
	again                            time.Duration
}

func inShort(p plan) done {
	short := done{creates: p.create != nil, updates: p.update != nil, keeps: p.keep != nil, removes: p.removeCertificate, secrets: slices.Sorted(slices.Values(p.removeSecrets)), reason: p.state.Reason}
	if !p.again.IsZero() {
		short.again = p.again.Sub(now)
	}
	return short
}

type planCase struct {
	observe []func(*observation)
	want    done
	// hint is a part of what is told.
	hint string
}

func runPlans(t *testing.T, cases map[string]planCase) {
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			o := newObservation(t, newBundle())
			for _, change := range test.observe {
				change(&o)
			}
			p := newPlan(o)
			if got := inShort(p); !reflect.DeepEqual(got, test.want) {
				t.Errorf("it does %+v, not %+v: %s", got, test.want, p.state.Message)
			}
			if !strings.Contains(p.state.Message, test.hint) || (p.state.Reason == "") != (p.state.Message == "") {
				t.Errorf("it tells %q", p.state.Message)
			}
			if o.material != nil && strings.Contains(p.state.Message, strings.Split(string(o.material.PrivateKey), "\n")[1]) {
				t.Errorf("it tells the key: %s", p.state.Message)
			}
		})
	}
}

func notInstalled(o *observation) { o.presence, o.certificate = optionalkind.NotInstalled, nil }

func ready(o *observation) { saying("Ready", "True", "up to date")(o) }

func refusedBefore(o *observation) {
	o.material = nil
	o.before = State{Reason: certificatesv1alpha1.ReasonCertificateRefused, Message: "refused before", refusedSource: o.source + o.requestHash()}
}

func outdated(o *observation) { o.certificate.SetGeneration(5) }

func TestPlanAsksForACertificate(t *testing.T) {
	pending := certificatesv1alpha1.ReasonIssuancePending
	relabelled := func(o *observation) { o.certificate.SetLabels(Key{Bundle: webKey.Bundle}.labels()) }
	runPlans(t, map[string]planCase{
		"that is not there yet": {want: done{creates: true, reason: pending}},
		"once cert-manager is there": {
			observe: []func(*observation){notInstalled}, want: done{reason: "CertManagerUnavailable", again: time.Minute}, hint: "install it",
		},
		"once cert-manager is there again, and tells it though an issuance is in use": {
			observe: []func(*observation){notInstalled, stored("a")}, want: done{reason: "CertManagerUnavailable", again: time.Minute},
		},
		"once what somebody else made is out of the way": {
			observe: []func(*observation){asked(t), func(o *observation) { o.certificate.SetLabels(nil) }},
			want:    done{reason: "IssuanceFailed", again: time.Minute}, hint: "Certificate acme/" + webKey.name() + " is in the way",
		},
		"once what was made for another is out of the way": {
			observe: []func(*observation){asked(t), relabelled}, want: done{reason: "IssuanceFailed", again: time.Minute}, hint: "delete it",
		},
		"with another name": {
			observe: []func(*observation){asked(t, func(c *certificatesv1alpha1.CertificateTemplate) { c.DNSNames = []string{"old.example.com"} })},
			want:    done{updates: true, reason: pending},
		},
		"again after another one was issued": {
			observe: []func(*observation){asked(t, func(c *certificatesv1alpha1.CertificateTemplate) { c.CommonName = "old" }), stored("a")},
			want:    done{updates: true},
		},
		"though the template cannot be read": {
			observe: []func(*observation){asked(t), func(o *observation) { o.refused = errors.New("spec.certificate.dnsNames[0]: no such label") }},
			want:    done{reason: "IssuanceFailed"}, hint: "spec.certificate.dnsNames[0]",
		},
		"not before somebody wants it":   {observe: []func(*observation){func(o *observation) { o.needed = false }}},
		"no more while it is as desired": {observe: []func(*observation){asked(t)}, want: done{reason: pending}, hint: "waiting for cert-manager"},
	})
}

func TestPlanTakesWhatWasIssued(t *testing.T) {
	root := issuancetest.Root(t, "root")
	right := issuedBy(t, root, "prod.example.com")
	wrong := issuedBy(t, root, "other.example.com")
	early := issuedBy(t, root, "prod.example.com", issuancetest.Valid(5*time.Minute, hour))
	failed := saying("Issuing", "False", "the order was denied")
	awaited := saying("Ready", "False", "Issuing certificate as Secret does not exist")
	runPlans(t, map[string]planCase{
		"if it is right":                {observe: []func(*observation){asked(t), ready, right}, want: done{keeps: true}},
		"before cert-manager is ready":  {observe: []func(*observation){asked(t), awaited, right}, want: done{keeps: true}},
		"though the next one failed":    {observe: []func(*observation){asked(t), awaited, failed, right}, want: done{keeps: true}},
		"once":                          {observe: []func(*observation){asked(t), ready, stored("a")}},
		"not while there is nothing":    {observe: []func(*observation){asked(t), awaited}, want: done{reason: "IssuancePending"}, hint: "may tell more: Issuing certificate"},
		"not if it has another name":    {observe: []func(*observation){asked(t), ready, wrong}, want: done{reason: "CertificateRefused"}, hint: "which goes into no cluster"},
		"not twice what it refused":     {observe: []func(*observation){asked(t), ready, wrong, refusedBefore}, want: done{reason: "CertificateRefused"}, hint: "refused before"},
		"not if another one is awaited": {observe: []func(*observation){asked(t), ready, outdated, wrong}, want: done{reason: "IssuancePending"}},
		"not before it is valid": {
			observe: []func(*observation){asked(t), ready, early}, want: done{reason: "CertificateRefused", again: 5*time.Minute + time.Second}, hint: "wait",
		},
		"and keeps the old one where the new one is wrong": {
			observe: []func(*observation){asked(t), ready, wrong, stored("a")}, want: done{reason: "CertificateRefused"},
		},
		"and tells that cert-manager failed": {
			observe: []func(*observation){asked(t), awaited, failed}, want: done{reason: "IssuanceFailed"}, hint: ": the order was denied",
		},
		"and tells that a renewal failed": {
			observe: []func(*observation){asked(t), awaited, failed, stored("a")}, want: done{reason: "IssuanceFailed"},
		},
		"and tells nothing of a renewal under way": {observe: []func(*observation){asked(t), awaited, stored("a")}},
	})
}

// What was refused is the same after a restart: it is read and refused once more, and the one before stays current.
func TestARefusedCertificateLeavesTheOldOneCurrent(t *testing.T) {
	o := newObservation(t, newBundle())
	for _, change := range []func(*observation){asked(t), ready, issuedBy(t, issuancetest.Root(t, "root"), "other.example.com"), stored("a")} {
		change(&o)
	}
	p := newPlan(o)
	if p.state.refusedSource != o.source+o.requestHash() {
		t.Errorf("it remembers %q", p.state.refusedSource)
	}
	if current := Current(o.issuances, nil, o.requestHash(), now); current == nil || current.Name != "a" || len(p.removeSecrets) > 0 {
		t.Errorf("%+v is current, and %v is removed", current, p.removeSecrets)
	}
}

func TestPlanKeepsAndRemoves(t *testing.T) {
	everything := []func(*observation){asked(t), ready, stored("a", "b", "c", "d"), func(o *observation) { o.source = "secret/7" }}
	with := func(changes ...func(*observation)) []func(*observation) { return slices.Concat(everything, changes) }
	unselected := func(o *observation) { o.selected, o.needed = false, false }
	delivered := func(names ...string) func(*observation) {
		return func(o *observation) {
			for _, name := range names {
				o.inUse[name], o.needed = true, true
			}
		}
	}
	all := []string{"a", "b", "c", "d", webKey.name()}
	runPlans(t, map[string]planCase{
		"nothing while the bundle is being deleted": {
			observe: with(func(o *observation) { o.bundle.DeletionTimestamp = &metav1.Time{Time: now} }),
		},
		"everything of a bundle that is gone": {
			observe: with(func(o *observation) { o.bundle, o.needed, o.selected = nil, false, false }), want: done{removes: true, secrets: all},
		},
		"everything of a cluster that is not selected": {observe: with(unselected), want: done{removes: true, secrets: all}},
		"not a Certificate that somebody else made": {
			observe: with(unselected, func(o *observation) { o.certificate.SetLabels(nil) }), want: done{secrets: all},
		},
		"only what is beyond the limit, while a cluster has it": {
			observe: with(unselected, delivered("b")), want: done{secrets: []string{"c", "d"}},
		},
		"what is beyond the limit": {observe: with(), want: done{secrets: []string{"c", "d"}}},
		"not what is in use":       {observe: with(delivered("c", "a")), want: done{secrets: []string{"d"}}},
		"not what the bundle goes back to": {
			observe: with(func(o *observation) { o.bundle.Spec.RollbackTo = []string{"d"} }), want: done{secrets: []string{"c"}},
		},
		"not what clusters are about to get": {
			observe: with(func(o *observation) {
				for i := range 3 {
					o.issuances[i].Request = "before"
				}
			}), want: done{secrets: []string{"c"}},
		},
		"at least the newest without a limit": {
			observe: with(func(o *observation) { o.bundle.Spec.HistoryLimit = 0 }), want: done{secrets: []string{"b", "c", "d"}},
		},
		"nothing of a cluster that is gone and still has its target": {
			observe: with(unselected, delivered("b"), func(o *observation) { o.gone, o.request.DNSNames = true, nil }),
		},
		"everything of a cluster that is gone with its target": {
			observe: with(unselected, func(o *observation) { o.gone, o.request.DNSNames = true, nil }), want: done{removes: true, secrets: all},
		},
		"what targets have, where the bundle issues nothing any more": {
			observe: with(unselected, func(o *observation) { o.inUse["b"] = true }), want: done{removes: true, secrets: []string{"a", "c", "d", webKey.name()}},
		},
	})
}

func TestACertificateIsPutBackWhereSomebodyEditedIt(t *testing.T) {
	set := func(value any, fields ...string) func(*observation) {
		return func(o *observation) {
			if err := unstructured.SetNestedField(o.certificate.Object, value, append([]string{"spec"}, fields...)...); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, edit := range map[string]func(*observation){
		"a name is added":            set([]any{"prod.example.com", "evil.example.com"}, "dnsNames"),
		"a name is removed":          set([]any{}, "dnsNames"),
		"a kind of names is added":   set([]any{"https://evil.example.com"}, "uris"),
		"a common name is added":     set("evil", "commonName"),
		"a subject is added":         set(map[string]any{"organizations": []any{"Evil"}}, "subject"),
		"it becomes a CA":            set(true, "isCA"),
		"it is valid for longer":     set("87600h0m0s", "duration"),
		"it is from another issuer":  set("evil", "issuerRef", "name"),
		"its key stays":              set("Never", "privateKey", "rotationPolicy"),
		"it goes into another place": set("evil", "secretName"),
		"its Secret has no mark":     set(map[string]any{}, "secretTemplate", "labels"),
		"a usage is added":           set([]any{"digital signature", "key encipherment", "server auth", "code signing"}, "usages"),
	} {
		t.Run(name, func(t *testing.T) {
			o := newObservation(t, newBundle())
			asked(t)(&o)
			want := o.certificate.DeepCopy()
			edit(&o)
			p := newPlan(o)
			if p.update == nil {
				t.Fatal("it stays")
			}
			if !reflect.DeepEqual(p.update.Object["spec"], want.Object["spec"]) || !reflect.DeepEqual(p.update.GetLabels(), want.GetLabels()) {
				t.Errorf("it becomes %v", p.update.Object)
			}
			if o.certificate = p.update; newPlan(o).update != nil {
				t.Error("it is put back for ever")
			}
		})
	}
}

func TestWhatOthersAddBesideTheRequestStays(t *testing.T) {
	o := newObservation(t, newBundle())
	asked(t)(&o)
	o.certificate.SetAnnotations(map[string]string{"argocd.argoproj.io/tracking-id": "x"})
	o.certificate.SetLabels(mergedWith(o.certificate.GetLabels(), "team", "web"))
	for _, fields := range [][]string{{"spec", "keystores", "jks", "create"}, {"spec", "privateKey", "later"}, {"spec", "secretTemplate", "annotations", "note"}} {
		if err := unstructured.SetNestedField(o.certificate.Object, "x", fields...); err != nil {
			t.Fatal(err)
		}
	}
	if p := newPlan(o); p.update != nil {
		t.Errorf("it becomes %v", p.update.Object["spec"])
	}
}

func mergedWith(labels map[string]string, key, value string) map[string]string {
	labels[key] = value
	return labels
}

func TestAChangedTemplateChangesTheRequest(t *testing.T) {
	names := func(names ...string) templateChange {
		return func(c *certificatesv1alpha1.CertificateTemplate) { c.DNSNames = names }
	}
	uri := func(c *certificatesv1alpha1.CertificateTemplate) { c.URIs = []string{"spiffe://acme/web"} }
	size := func(size int32) templateChange {
		return func(c *certificatesv1alpha1.CertificateTemplate) { c.PrivateKey.Size = size }
	}
	for name, test := range map[string]struct{ before, after []templateChange }{
		"a name is added":               {before: []templateChange{names("a.example.com")}, after: []templateChange{names("a.example.com", "b.example.com")}},
		"a name is removed":             {before: []templateChange{names("a.example.com", "b.example.com")}, after: []templateChange{names("a.example.com")}},
		"a kind of names is added":      {after: []templateChange{uri}},
		"the last of a kind is removed": {before: []templateChange{uri}},
		"another key":                   {before: []templateChange{size(256)}, after: []templateChange{size(384)}},
	} {
		t.Run(name, func(t *testing.T) {
			o := newObservation(t, newBundle(test.after...))
			asked(t, test.before...)(&o)
			p := newPlan(o)
			if p.update == nil || !reflect.DeepEqual(p.update.Object["spec"], desiredCertificate(o).Object["spec"]) {
				t.Errorf("it does %+v", inShort(p))
			}
		})
	}
}
