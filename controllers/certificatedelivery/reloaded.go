package certificatedelivery

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/certificatedelivery/reload"
	"github.com/daytwo-dev/daytwo/controllers/internal/conditions"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
	"github.com/daytwo-dev/daytwo/controllers/internal/truncate"
)

// reloadTargets are the objects of a list whose users are restarted, and whether the certificate is in one of them.
func reloadTargets(w wanted, list []apply.Declaration) (targets []certificatesv1alpha1.ReloadTarget, certificate bool) {
	add := func(kind, name string, place certificatesv1alpha1.Placement, policy certificatesv1alpha1.ReloadPolicy) bool {
		namespaces := w.in(place)
		name, err := w.name("", name)
		if policy != certificatesv1alpha1.ReloadRestartWorkloads || len(namespaces) == 0 || err != nil {
			return false
		}
		target := certificatesv1alpha1.ReloadTarget{Kind: kind, Name: name, Hash: dataHash(list, kind, namespaces[0], name)}
		if place.NamespaceSelector != nil {
			target.Selector = selectorOf(place)
		} else {
			target.Namespaces = slices.Clone(place.Namespaces)
		}
		targets = append(targets, target)
		return true
	}
	for _, secret := range w.secretTargets() {
		certificate = add("Secret", secret.SecretName, secret.Placement, secret.Reload) || certificate
	}
	if w.Trust != nil {
		for _, anchors := range w.Trust.Targets {
			add(anchors.Kind, anchors.Name, anchors.Placement, anchors.Reload)
		}
	}
	return targets, certificate
}

// dataHash is the hash of what is in a declared object: 16 hex digits of its SHA-256.
func dataHash(list []apply.Declaration, kind, namespace, name string) string {
	at := slices.IndexFunc(list, func(one apply.Declaration) bool {
		return one.GetKind() == kind && one.GetNamespace() == namespace && one.GetName() == name
	})
	return shortHash(list[at].Object["data"])
}

// shortHash is 16 hex digits of the SHA-256 of a value as JSON.
func shortHash(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // Texts, and maps and lists of them, always marshal.
	}
	digest := sha256.Sum256(text)
	return hex.EncodeToString(digest[:8])
}

// tellReload tells what workloads are to have loaded, once it is in the cluster. Before is the certificate that was there.
func tellReload(told *declared, before *certificatesv1alpha1.DeliveredCertificate, status *certificatesv1alpha1.CertificateDeliveryStatus) {
	if len(told.reload) == 0 {
		status.Reload = nil
		return
	}
	next := &certificatesv1alpha1.ReloadStatus{Targets: told.reload}
	if had := status.Reload; had != nil {
		next.Loaded, next.LoadedUntil = had.Loaded, had.LoadedUntil
	}
	status.Reload = next
	if next.Loaded == reloadHash(status) {
		return
	}
	// Some may come to have loaded this one from now on: what was loaded before does not hold any more, also if it comes back.
	next.Loaded = ""
	if now := told.certificate; told.reloadsCertificate && before != nil && now != nil && before.Fingerprint != now.Fingerprint {
		if next.LoadedUntil == nil || before.NotAfter.Before(next.LoadedUntil) {
			next.LoadedUntil = before.NotAfter.DeepCopy()
		}
	}
}

// reloadHash is over what workloads are to have loaded, and where.
func reloadHash(status *certificatesv1alpha1.CertificateDeliveryStatus) string {
	return shortHash([]any{status.Reload.Targets, status.Namespaces})
}

// loadedUntil is when a certificate expires that workloads may still have loaded; zero for none.
func loadedUntil(status *certificatesv1alpha1.CertificateDeliveryStatus) time.Time {
	if status.Reload == nil || status.Reload.LoadedUntil == nil {
		return time.Time{}
	}
	return status.Reload.LoadedUntil.Time
}

// reloadsNow is the hash of what workloads are to have loaded, where they may be looked at now; empty otherwise.
func reloadsNow(o *observation, status *certificatesv1alpha1.CertificateDeliveryStatus) string {
	if !o.IsReachable() || o.Suspension.Active || delivered(o, status) != nil {
		return ""
	}
	return awaitsReload(status)
}

// awaitsReload is the hash of what workloads are to have loaded; empty if all have.
func awaitsReload(status *certificatesv1alpha1.CertificateDeliveryStatus) string {
	if status.Reload == nil {
		return ""
	}
	if hash := reloadHash(status); hash != status.Reload.Loaded {
		return hash
	}
	return ""
}

// beginsAt is when to look at what the status has come to ask for; zero for never.
func beginsAt(o *observation, status *certificatesv1alpha1.CertificateDeliveryStatus) time.Time {
	reload := reloadsNow(o, status)
	if reload != "" && reload != o.Extra.reload.hash || !o.Extra.probe.possible && isProbePossible(o, status) {
		return o.Now
	}
	return time.Time{}
}

// reloadObjects are the objects of targets, in the namespaces that selectors select.
func reloadObjects(targets []certificatesv1alpha1.ReloadTarget, selected map[string][]string) []reload.Object {
	var list []reload.Object
	for _, target := range targets {
		namespaces := target.Namespaces
		if target.Selector != "" {
			namespaces = selected[target.Selector]
		}
		for _, namespace := range namespaces {
			list = append(list, reload.Object{Kind: target.Kind, Namespace: namespace, Name: target.Name, Hash: target.Hash})
		}
	}
	return list
}

// finding is one part of the condition ReloadComplete.
type finding struct {
	status          metav1.ConditionStatus
	reason, message string
}

// concludeReload tells whether everything has loaded what was delivered that the bundle asks for. It is absent where the bundle
// asks for nothing.
func concludeReload(o *observation, status *certificatesv1alpha1.CertificateDeliveryStatus, list conditions.List) {
	if s := o.Extra.reload; s.hash != "" && s.seen.IsComplete() && s.hash == awaitsReload(status) {
		status.Reload.Loaded, status.Reload.LoadedUntil = s.hash, nil
	}
	tellProbe(o, status)
	var findings []finding
	if status.Reload != nil {
		findings = append(findings, findReload(o, status))
	}
	if o.Target.Spec.Probe != nil && (status.Certificate != nil || o.Target.Spec.Content != "") {
		findings = append(findings, findProbe(o, status))
	}
	if len(findings) == 0 {
		list.Remove(certificatesv1alpha1.ConditionReloadComplete)
		return
	}
	is := worstOf(findings)
	list.Set(certificatesv1alpha1.ConditionReloadComplete, is.status, is.reason, is.message)
}

// worstOf is what is False, else what is Unknown, with the messages of all that are not True.
func worstOf(findings []finding) finding {
	worst, messages := findings[0], []string(nil)
	for _, one := range findings {
		if one.status == metav1.ConditionFalse && worst.status != metav1.ConditionFalse || worst.status == metav1.ConditionTrue {
			worst = one
		}
	}
	for _, one := range findings {
		if (one.status == metav1.ConditionTrue) == (worst.status == metav1.ConditionTrue) {
			messages = append(messages, one.message)
		}
	}
	worst.message = strings.Join(messages, "; ")
	return worst
}

// delivered is nil where what the bundle declares now is in the cluster, and else why nothing can have loaded it.
func delivered(o *observation, status *certificatesv1alpha1.CertificateDeliveryStatus) *finding {
	if state, reason, message := readBack(o, status); state != metav1.ConditionTrue {
		return &finding{state, reason, message}
	}
	if !isApplied(o, status) {
		return &finding{metav1.ConditionFalse, certificatesv1alpha1.ReasonNotDistributed, "not applied yet"}
	}
	return nil
}

// findReload tells whether the workloads have loaded what was delivered.
func findReload(o *observation, status *certificatesv1alpha1.CertificateDeliveryStatus) finding {
	if not := delivered(o, status); not != nil {
		return *not
	}
	hash, s := awaitsReload(status), o.Extra.reload
	not := func(reason, format string, args ...any) finding {
		return finding{metav1.ConditionFalse, reason, fmt.Sprintf(format, args...)}
	}
	switch {
	case hash == "":
		return finding{metav1.ConditionTrue, certificatesv1alpha1.ReasonReloaded, "the workloads that use what was delivered have been restarted since"}
	case o.Suspension.Active:
		return not(metav1alpha1.ReasonSuspended, "%s; no workload is restarted", o.Suspension)
	case s.hash != hash || !s.seen.Looked:
		return not(certificatesv1alpha1.ReasonRestarting, "looking for the workloads that use what was delivered")
	case s.seen.Refused.Count > 0:
		return not(certificatesv1alpha1.ReasonRestartRefused, "%s", truncate.First(s.seen.Refused.First, "; ", s.seen.Refused.Count))
	case s.seen.Waiting.Count > 0:
		return not(certificatesv1alpha1.ReasonRestarting, "%s", truncate.First(s.seen.Waiting.First, "; ", s.seen.Waiting.Count))
	case s.seen.Held.Count > 0:
		return not(metav1alpha1.ReasonWindowClosed, "%s %s", truncate.First(s.seen.Held.First, ", ", s.seen.Held.Count), untilOpen(s.window, status))
	}
	return not(certificatesv1alpha1.ReasonRestarting, "not all namespaces were looked at yet")
}

// untilOpen says for which window workloads wait.
func untilOpen(window reload.Window, status *certificatesv1alpha1.CertificateDeliveryStatus) string {
	text := "wait for a maintenance window of the cluster"
	if !window.Opens.IsZero() {
		text = "wait for the maintenance window that opens at " + window.Opens.UTC().Format(time.RFC3339)
	}
	if until := loadedUntil(status); !until.IsZero() {
		text += ", or for the last hour of the certificate before, which expires at " + until.UTC().Format(time.RFC3339)
	}
	return text
}
