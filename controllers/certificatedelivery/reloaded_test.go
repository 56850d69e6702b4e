package certificatedelivery

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/certificatedelivery/probe"
	"github.com/daytwo-dev/daytwo/controllers/certificatedelivery/reload"
	"github.com/daytwo-dev/daytwo/controllers/internal/suspension"
)

func restarting(secret *certificatesv1alpha1.SecretTarget) {
	secret.Reload = certificatesv1alpha1.ReloadRestartWorkloads
}

func TestUsersAreRestartedForTheObjectsOfWhichTheBundleSaysSo(t *testing.T) {
	anchors := func(w *wanted) { w.Trust.Targets[0].Reload = certificatesv1alpha1.ReloadRestartWorkloads }
	w := newWanted(t,
		secretTarget("{{ .Cluster.Name }}-tls", in("shop", "web"), restarting), secretTarget("quiet-tls", in("shop")),
		secretTarget("selected-tls", selecting("tls", "yes"), restarting, withCA), secretTarget("nowhere-tls", selecting("tls", "no"), restarting),
		trustTarget("ConfigMap", "anchors", in("web")), trustTarget("Secret", "anchors", in("web")), anchors,
	)
	w.namespaces = map[string][]string{"tls=yes": {"a", "b"}, "tls=no": {}}
	got, certificate := reloadTargets(w, mustDesire(t, w))
	var said []string
	for _, one := range got {
		said = append(said, one.Kind+" "+one.Name+" "+strings.Join(one.Namespaces, ",")+one.Selector)
		if len(one.Hash) != 16 {
			t.Errorf("%s has the hash %q", one.Name, one.Hash)
		}
	}
	want := []string{"Secret prod-tls shop,web", "Secret selected-tls tls=yes", "ConfigMap anchors web"}
	if !slices.Equal(said, want) || !certificate {
		t.Errorf("got %q", said)
	}
	if got[0].Hash == got[1].Hash {
		t.Error("a Secret with an authority has the content of one without")
	}
	if again, _ := reloadTargets(w, mustDesire(t, w)); again[0].Hash != got[0].Hash {
		t.Error("the same content has another hash")
	}
	renewed := newWanted(t, secretTarget("{{ .Cluster.Name }}-tls", in("shop"), restarting))
	if other, _ := reloadTargets(renewed, mustDesire(t, renewed)); other[0].Hash == got[0].Hash {
		t.Error("another certificate has the same hash")
	}
	trust := newWanted(t, trustTarget("Secret", "anchors", in("web")), anchors)
	if got, certificate := reloadTargets(trust, mustDesire(t, trust)); len(got) != 1 || certificate {
		t.Errorf("of anchors alone: %+v, and the certificate %t", got, certificate)
	}
	objects := reloadObjects(got, w.namespaces)
	if len(objects) != 5 || objects[3] != (reload.Object{Kind: "Secret", Namespace: "b", Name: "selected-tls", Hash: got[1].Hash}) {
		t.Errorf("they are %+v", objects)
	}
}

// delivering is a declaration of a certificate, whose users load the content of that hash.
func delivering(fingerprint, hash string, lasts time.Duration) *declared {
	certificate := holding(lasts, 0).Certificate
	certificate.Fingerprint = fingerprint
	return &declared{
		certificate: certificate, reloadsCertificate: true,
		reload: []certificatesv1alpha1.ReloadTarget{{Kind: "Secret", Name: "web-tls", Hash: hash, Namespaces: []string{"shop"}}},
	}
}

func loaded(status *certificatesv1alpha1.CertificateDeliveryStatus) {
	status.Reload.Loaded, status.Reload.LoadedUntil = reloadHash(status), nil
}

func TestTheFirstOfTheCertificatesThatMayBeLoadedIsKnown(t *testing.T) {
	status := &certificatesv1alpha1.CertificateDeliveryStatus{}
	until := func(want time.Duration) {
		t.Helper()
		if got := loadedUntil(status); got.IsZero() != (want == 0) || want != 0 && !got.Equal(now.Add(want)) {
			t.Errorf("a certificate is loaded until %s, want %s from now", got, want)
		}
	}
	tellDeclared(delivering("a", "1", 10*day), status)
	until(0)
	loaded(status)
	tellDeclared(delivering("a", "1", 10*day), status)
	if awaitsReload(status) != "" {
		t.Error("the same content is to be loaded again")
	}
	tellDeclared(delivering("b", "2", 30*day), status)
	until(10 * day)
	tellDeclared(delivering("c", "3", 90*day), status)
	until(10 * day)
	tellDeclared(delivering("a", "1", 10*day), status)
	until(10 * day)
	if awaitsReload(status) == "" {
		t.Error("what was loaded once is taken for what is loaded, though others may have been meanwhile")
	}
	loaded(status)
	until(0)
	status.Namespaces = "others"
	if awaitsReload(status) == "" {
		t.Error("in other namespaces nobody looked")
	}
	anchors := delivering("d", "4", 90*day)
	anchors.reloadsCertificate = false
	loaded(status)
	tellDeclared(anchors, status)
	until(0)
	if tellDeclared(&declared{}, status); status.Reload != nil {
		t.Errorf("nobody asks for it, and it tells %+v", status.Reload)
	}
}

// inCluster is a delivery whose certificate was read back, and that its users are to load.
func inCluster() (*observation, *certificatesv1alpha1.CertificateDeliveryStatus) {
	o, status := newObserved(), &certificatesv1alpha1.CertificateDeliveryStatus{}
	tellDeclared(delivering("a", "1", 10*day), status)
	status.Inventory = []metav1alpha1.InventoryEntry{{ID: "x"}}
	status.Acknowledged = &metav1alpha1.Acknowledgement{Generation: o.Target.Generation}
	applied(status, metav1.ConditionTrue, "Applied", "")
	return o, status
}

func expectReload(t *testing.T, o *observation, status *certificatesv1alpha1.CertificateDeliveryStatus, want metav1.ConditionStatus, reason, hint string) {
	t.Helper()
	conclude(o, status, o.Now)
	got := meta.FindStatusCondition(status.Conditions, certificatesv1alpha1.ConditionReloadComplete)
	if got == nil || got.Status != want || got.Reason != reason || !strings.Contains(got.Message, hint) {
		t.Errorf("got %+v, want %s %s %q", got, want, reason, hint)
	}
	complete := &certificatesv1alpha1.CertificateDelivery{ObjectMeta: *o.Target.ObjectMeta.DeepCopy(), Status: *status}
	if complete.IsReloadComplete() != (want == metav1.ConditionTrue) {
		t.Errorf("reload is complete: %t", complete.IsReloadComplete())
	}
	if complete.Generation++; complete.IsReloadComplete() {
		t.Error("of a generation that nobody has seen yet, reload is complete")
	}
}

func seen(refused, waiting, held string) reload.Result {
	names := func(text string) reload.Names {
		if text == "" {
			return reload.Names{}
		}
		return reload.Names{Count: 3, First: []string{text}}
	}
	return reload.Result{Looked: true, Refused: names(refused), Waiting: names(waiting), Held: names(held)}
}

func TestReloadCompleteTellsWhatIsWaitedFor(t *testing.T) {
	for name, test := range map[string]struct {
		change       func(*observation, *certificatesv1alpha1.CertificateDeliveryStatus)
		seen         *reload.Result
		status       metav1.ConditionStatus
		reason, hint string
	}{
		"nobody has looked":    {status: "False", reason: "Restarting", hint: "looking for the workloads"},
		"all have loaded it":   {seen: &reload.Result{Looked: true}, status: "True", reason: "Reloaded", hint: "have been restarted"},
		"a rollout":            {seen: resultOf(seen("", "Deployment shop/web: 1 of 3 pods are updated", "Deployment shop/b")), status: "False", reason: "Restarting", hint: "Deployment shop/web: 1 of 3 pods are updated and 2 more"},
		"a refusal is told of": {seen: resultOf(seen("Deployment shop/web: forbidden", "Deployment shop/a", "")), status: "False", reason: "RestartRefused", hint: "Deployment shop/web: forbidden and 2 more"},
		"a window": {
			seen: resultOf(seen("", "", "Deployment shop/web")), status: "False", reason: "WindowClosed",
			hint: "Deployment shop/web and 2 more wait for the maintenance window that opens at 2026-03-02T12:00:00Z, or for the last hour of the certificate before, which expires at 2026-03-06T12:00:00Z",
			change: func(o *observation, status *certificatesv1alpha1.CertificateDeliveryStatus) {
				o.Extra.reload.window.Opens = now.Add(day)
				until := metav1.NewTime(now.Add(5 * day))
				status.Reload.LoadedUntil = &until
			},
		},
		"not all was looked at": {seen: &reload.Result{Looked: true, Unseen: true}, status: "False", reason: "Restarting", hint: "not all namespaces"},
		"a suspension": {
			change: func(o *observation, _ *certificatesv1alpha1.CertificateDeliveryStatus) {
				o.Suspension = suspension.During("hands off")
			},
			status: "False", reason: "Suspended", hint: "no workload is restarted",
		},
		"not read back": {
			change: func(_ *observation, status *certificatesv1alpha1.CertificateDeliveryStatus) {
				status.Acknowledged = nil
			},
			seen: &reload.Result{Looked: true}, status: "False", reason: "NotDistributed",
		},
		"no answer": {
			change: func(o *observation, _ *certificatesv1alpha1.CertificateDeliveryStatus) { o.Unreachable = "no answer" },
			status: "Unknown", reason: "ClusterUnreachable", hint: "no answer",
		},
		"another revision": {
			change: func(o *observation, status *certificatesv1alpha1.CertificateDeliveryStatus) {
				loaded(status)
				o.Inputs = "next"
			},
			status: "False", reason: "NotDistributed",
		},
		"another content was looked for": {
			change: func(_ *observation, status *certificatesv1alpha1.CertificateDeliveryStatus) {
				tellDeclared(delivering("b", "2", 10*day), status)
			},
			seen: &reload.Result{Looked: true}, status: "False", reason: "Restarting", hint: "looking for",
		},
	} {
		t.Run(name, func(t *testing.T) {
			o, status := inCluster()
			if test.seen != nil {
				o.Extra.reload.hash, o.Extra.reload.seen = awaitsReload(status), *test.seen
			}
			if test.change != nil {
				test.change(o, status)
			}
			expectReload(t, o, status, test.status, test.reason, test.hint)
		})
	}
}

func resultOf(r reload.Result) *reload.Result { return &r }

func TestReloadCompleteIsAbsentWhereNobodyAsksForIt(t *testing.T) {
	o, status := inCluster()
	loaded(status)
	expectReload(t, o, status, "True", "Reloaded", "")
	status.Reload = nil
	if conclude(o, status, o.Now); meta.FindStatusCondition(status.Conditions, certificatesv1alpha1.ConditionReloadComplete) != nil {
		t.Error("it is told")
	}
}

func TestWorkBeginsOnceTheStatusAsksForIt(t *testing.T) {
	o, status := inCluster()
	if got := beginsAt(o, status); !got.Equal(now) {
		t.Errorf("it begins at %s", got)
	}
	o.Extra.reload.hash = awaitsReload(status)
	if got := beginsAt(o, status); !got.IsZero() {
		t.Errorf("it has begun, and begins at %s", got)
	}
	loaded(status)
	o.Extra.reload.hash = ""
	if got := beginsAt(o, status); !got.IsZero() {
		t.Errorf("all have loaded it, and it begins at %s", got)
	}
	o.Target.Spec.Probe = &certificatesv1alpha1.Probe{Address: "shop.example.com:443"}
	if got := beginsAt(o, status); !got.Equal(now) {
		t.Errorf("a probe begins at %s", got)
	}
	o.Suspension = suspension.During("hands off")
	if got := beginsAt(o, status); !got.IsZero() {
		t.Errorf("while people want hands off, it begins at %s", got)
	}
}

func TestReloadIsCompleteWhenTheCertificateIsServed(t *testing.T) {
	served := func(fingerprint string) *certificatesv1alpha1.ProbeStatus {
		return &certificatesv1alpha1.ProbeStatus{Fingerprint: fingerprint, SerialNumber: "1c", NotAfter: &metav1.Time{Time: now}}
	}
	for name, test := range map[string]struct {
		probe        certificatesv1alpha1.Probe
		is           *certificatesv1alpha1.ProbeStatus
		status       metav1.ConditionStatus
		reason, hint string
	}{
		"not probed yet":     {status: "False", reason: "ProbePending", hint: "shop.prod.example.com:443 was not probed"},
		"served":             {is: served("a"), status: "True", reason: "Reloaded", hint: "shop.prod.example.com:443 serves the certificate 7f"},
		"another is served":  {is: served("b"), status: "False", reason: "CertificateNotServed", hint: "serves the certificate 1c, which expires at 2026-03-01T12:00:00Z, and not 7f"},
		"no answer":          {is: &certificatesv1alpha1.ProbeStatus{Message: "connection refused"}, status: "Unknown", reason: "ProbeFailed", hint: "connection refused"},
		"no certificate":     {is: &certificatesv1alpha1.ProbeStatus{}, status: "Unknown", reason: "ProbeFailed", hint: "serves no certificate"},
		"no such label":      {probe: certificatesv1alpha1.Probe{Address: "{{ .Cluster.Labels.zone }}:443"}, status: "False", reason: "InvalidSpec", hint: "spec.probe.address"},
		"no port":            {probe: certificatesv1alpha1.Probe{Address: "{{ .Cluster.Name }}"}, status: "False", reason: "InvalidSpec", hint: "write a host and a port"},
		"no such port":       {probe: certificatesv1alpha1.Probe{Address: "{{ .Cluster.Name }}:99999"}, status: "False", reason: "InvalidSpec", hint: "write a host and a port"},
		"a name of no label": {probe: certificatesv1alpha1.Probe{Address: "a:443", ServerName: "{{ .Cluster.Labels.zone }}"}, status: "False", reason: "InvalidSpec", hint: "spec.probe.serverName"},
	} {
		t.Run(name, func(t *testing.T) {
			o, status := inCluster()
			status.Reload = nil
			if test.probe.Address == "" {
				test.probe.Address = "shop.{{ .Cluster.Name }}.example.com:443"
			}
			o.Target.Spec.Probe, o.Target.Spec.ClusterRef = &test.probe, metav1alpha1.ClusterReference{Namespace: "acme", Name: "prod"}
			if server, err := serverOf(o); err == nil && test.is != nil {
				test.is.Asked = askedOf(server, status.Certificate)
			}
			o.Extra.probe.is = test.is
			expectReload(t, o, status, test.status, test.reason, test.hint)
			// Of another certificate it tells nothing.
			if test.status == metav1.ConditionTrue {
				status.Certificate.Fingerprint = "next"
				o.Extra.probe.is = nil
				expectReload(t, o, status, "False", "ProbePending", "")
			}
		})
	}
}

func TestReloadIsCompleteWhenBothAre(t *testing.T) {
	good, unknown, bad := finding{"True", "A", "a"}, finding{"Unknown", "B", "b"}, finding{"False", "C", "c"}
	for want, list := range map[string][]finding{
		"True A a; a": {good, good}, "Unknown B b": {good, unknown}, "False C b; c": {unknown, bad}, "False C c": {bad, good}, "False C c; b": {bad, unknown},
	} {
		if got := worstOf(list); string(got.status)+" "+got.reason+" "+got.message != want {
			t.Errorf("got %+v, want %q", got, want)
		}
	}
}

func TestAProbeIsRepeatedUntilTheCertificateIsServedAndAfterDrift(t *testing.T) {
	wanted := &certificatesv1alpha1.DeliveredCertificate{Fingerprint: "a"}
	status := &certificatesv1alpha1.CertificateDeliveryStatus{}
	if at := probeDue(status, nil, "x"); !at.IsZero() {
		t.Errorf("the first is due at %s", at)
	}
	first := probedAs(nil, "q", wanted, probe.Served{}, errors.New(strings.Repeat("x", 600)), now)
	second := probedAs(first, "q", wanted, probe.Served{Fingerprint: "b", NotAfter: now}, nil, now)
	third := probedAs(second, "q", wanted, probe.Served{Fingerprint: "a", NotAfter: now}, nil, now)
	if first.Fails != 1 || len(first.Message) > 512 || second.Fails != 2 || second.NotAfter == nil || third.Fails != 0 {
		t.Errorf("got %+v, %+v, %+v", first, second, third)
	}
	a, b, c := probeDue(status, first, "x"), probeDue(status, second, "x"), probeDue(status, third, "x")
	if !a.Before(b) || !b.Before(c) || c.Sub(now) < 50*time.Minute {
		t.Errorf("the next are due at %s, %s and %s", a, b, c)
	}
	corrected := metav1.NewMicroTime(now.Add(5 * time.Minute))
	status.Drift.LastCorrected = &corrected
	if at := probeDue(status, third, "x"); !at.Equal(corrected.Add(time.Second)) {
		t.Errorf("after drift it is due at %s", at)
	}
	after := probedAs(third, "q", wanted, probe.Served{Fingerprint: "a", NotAfter: now}, nil, corrected.Add(time.Second))
	if at := probeDue(status, after, "x"); at.Sub(now) < 50*time.Minute {
		t.Errorf("after the probe that came of it, it is due at %s", at)
	}
}
