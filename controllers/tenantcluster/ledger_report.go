package tenantcluster

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/orphans"
)

// ledgerShown is how many entries of a ledger a condition tells of.
const ledgerShown = 3

// ledgerHintStart is what the hint in Ready begins with.
const ledgerHintStart = "; ConfigMap " + orphans.Name

// reportLedger tells of what clusters left behind that are gone, until somebody has seen to it.
func reportLedger(w *writer, seen observed) {
	ready := w.find(metav1alpha1.ConditionReady)
	// Ready may be left as it was before, with a hint.
	message, _, hinted := strings.Cut(ready.Message, ledgerHintStart)
	if seen.ledger == nil {
		w.remove(tenancyv1alpha1.ConditionOrphansRecorded)
		if hinted {
			w.set(metav1alpha1.ConditionReady, ready.Status, ready.Reason, message)
		}
		return
	}
	w.set(tenancyv1alpha1.ConditionOrphansRecorded, metav1.ConditionTrue, tenancyv1alpha1.ReasonOrphansRecorded,
		ledgerMessage(*seen.ledger, seen.cluster.Status.ClusterID))
	if ready.Status == metav1.ConditionTrue {
		w.set(metav1alpha1.ConditionReady, ready.Status, ready.Reason, message+ledgerHint(*seen.ledger))
	}
}

// ledgerHint is for the one line that people see first.
func ledgerHint(ledger orphans.Content) string {
	return fmt.Sprintf(ledgerHintStart+" lists what may remain of clusters that are gone (%s)", entries(len(ledger.Entries)+len(ledger.Unreadable)))
}

// ledgerMessage tells what to do before it names entries, as long messages are cut: first those of the same
// cluster, in case it was registered again, then the oldest.
func ledgerMessage(ledger orphans.Content, identity string) string {
	var text strings.Builder
	fmt.Fprintf(&text, "ConfigMap %s of this namespace has %s of what may remain of clusters that are gone", orphans.Name, entries(len(ledger.Entries)))
	if ledger.Dropped > 0 {
		fmt.Fprintf(&text, ", and had %d more, which had to make room", ledger.Dropped)
	}
	text.WriteString(": see to them, then delete the entries, or the ConfigMap")
	if len(ledger.Unreadable) > 0 {
		fmt.Fprintf(&text, ". Not an entry: %s", strings.Join(ledger.Unreadable[:min(len(ledger.Unreadable), ledgerShown)], ", "))
	}
	told := slices.Clone(ledger.Entries)
	slices.SortStableFunc(told, func(a, b orphans.Entry) int {
		return cmp.Compare(ofAnother(a, identity), ofAnother(b, identity))
	})
	for _, entry := range told[:min(len(told), ledgerShown)] {
		fmt.Fprintf(&text, "; TenantCluster %s, %s, since %s: %s", entry.Cluster, entry.Holder, entry.At.UTC().Format(time.RFC3339), entry.Why)
		if identity != "" && entry.ClusterID == identity {
			text.WriteString(" (it was this cluster)")
		}
	}
	if more := len(told) - ledgerShown; more > 0 {
		fmt.Fprintf(&text, "; and %d more", more)
	}
	return text.String()
}

// ofAnother is 0 for what belongs to the cluster of that identity.
func ofAnother(entry orphans.Entry, identity string) int {
	if identity != "" && entry.ClusterID == identity {
		return 0
	}
	return 1
}

func entries(count int) string {
	if count == 1 {
		return "1 entry"
	}
	return fmt.Sprintf("%d entries", count)
}
