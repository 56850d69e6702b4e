package rollout

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

const (
	// guardedSpan is how long a withdrawal counts.
	guardedSpan = time.Hour
	// recordedSpan is the precision of a policy's record. A minute counts until its last second is old enough,
	// so at most 61 of them count.
	recordedSpan = time.Minute
	// recordedSpanOfNamespace is the same for the record of a namespace, of which there may be many: at most 7 of them count.
	recordedSpanOfNamespace = 10 * time.Minute
	// maxRecordedNamespaces is how many namespaces a record has. Those beyond wait for one to be forgotten.
	maxRecordedNamespaces = 256
)

// guardCounts is what counts for one guard, and its precision.
type guardCounts struct {
	metav1alpha1.WithdrawalCounts
	span time.Duration
}

// countsOf is that of a namespace in a record; of the policy itself, if the namespace is empty.
func countsOf(record metav1alpha1.WithdrawalRecord, namespace string) guardCounts {
	if namespace == "" {
		return guardCounts{record.WithdrawalCounts, recordedSpan}
	}
	found := guardCounts{span: recordedSpanOfNamespace}
	if at, known := findNamespace(record, namespace); known {
		found.WithdrawalCounts = record.Namespaces[at].WithdrawalCounts
	}
	return found
}

// withCounts is a copy of the record with the counts of a namespace; of the policy itself, if the namespace is empty. One that holds
// nothing is forgotten.
func withCounts(record metav1alpha1.WithdrawalRecord, namespace string, c guardCounts) metav1alpha1.WithdrawalRecord {
	if namespace == "" {
		record.WithdrawalCounts = c.WithdrawalCounts
		return record
	}
	at, known := findNamespace(record, namespace)
	record.Namespaces = slices.Clone(record.Namespaces)
	empty := len(c.Recent) == 0 && c.Underway == nil && c.SpentConfirmation == ""
	switch {
	case known && empty:
		record.Namespaces = slices.Delete(record.Namespaces, at, at+1)
	case known:
		record.Namespaces[at].WithdrawalCounts = c.WithdrawalCounts
	case !empty && !isRecordFull(record, namespace):
		added := metav1alpha1.NamespaceWithdrawals{Namespace: namespace, WithdrawalCounts: c.WithdrawalCounts}
		record.Namespaces = slices.Insert(record.Namespaces, at, added)
	}
	return record
}

// findNamespace is where a namespace is in a record, or would be.
func findNamespace(record metav1alpha1.WithdrawalRecord, namespace string) (int, bool) {
	return slices.BinarySearchFunc(record.Namespaces, namespace, func(known metav1alpha1.NamespaceWithdrawals, namespace string) int {
		return strings.Compare(known.Namespace, namespace)
	})
}

// endOf is when what was recorded does not count any more.
func (c guardCounts) endOf(minute metav1alpha1.WithdrawalMinute) time.Time {
	return minute.Minute.Add(c.span + guardedSpan)
}

// recently is how many clusters were lost without confirmation in the hour before now, and the most
// that the policy had in it, apart from those that somebody let go. It has fewer only by losing some,
// and then the record has the number before; so the most is one of those, or what it has now.
func (c guardCounts) recently(has int, now time.Time) (count, peak int) {
	peak = has - c.confirmedRest()
	for _, minute := range c.Recent {
		if c.endOf(minute).After(now) {
			count += int(minute.Count)
			peak = max(peak, int(minute.Clusters))
		}
	}
	return count, peak
}

// begun returns the counts of withdrawals that are about to happen.
func (c guardCounts) begun(count, confirmed, has int) guardCounts {
	c.Underway = &metav1alpha1.WithdrawalsUnderway{Count: int32(count), Confirmed: int32(confirmed), Clusters: int32(has)}
	return c
}

// resolved returns the counts with those added that were under way and have happened. That shows in the
// number of clusters, whether or not anybody wrote it down. Where some were confirmed and others
// were not, the latter came first. Of the rest, no more are under way than wait.
func (c guardCounts) resolved(waiting, has int, now time.Time) guardCounts {
	begun := c.Underway
	if begun == nil {
		return c
	}
	happened := min(max(begun.Clusters-int32(has), 0), begun.Count)
	unconfirmed := min(happened, begun.Count-begun.Confirmed)
	if unconfirmed > 0 {
		c = c.counted(unconfirmed, begun.Clusters-begun.Confirmed, now)
	}
	c.Underway = &metav1alpha1.WithdrawalsUnderway{
		Count:     min(begun.Count-happened, int32(waiting)),
		Confirmed: min(begun.Confirmed-(happened-unconfirmed), int32(waiting)),
		Clusters:  int32(has),
	}
	return c
}

// confirmedRest is how many clusters may be lost since somebody confirmed it before.
func (c guardCounts) confirmedRest() int {
	if c.Underway == nil {
		return 0
	}
	return int(c.Underway.Confirmed)
}

// counted returns the counts with further withdrawals, of so many clusters.
func (c guardCounts) counted(count, clusters int32, now time.Time) guardCounts {
	c.Recent = c.current(now)
	this := now.Truncate(c.span)
	// Never before the last one, though the clock was set back: the record stays in order and bounded.
	if last := len(c.Recent) - 1; last >= 0 && !c.Recent[last].Minute.Time.Before(this) {
		c.Recent[last].Count += count
		c.Recent[last].Clusters = max(c.Recent[last].Clusters, clusters)
		return c
	}
	c.Recent = append(c.Recent, metav1alpha1.WithdrawalMinute{Minute: metav1.NewTime(this), Count: count, Clusters: clusters})
	return c
}

// confirmed returns the counts after so many withdrawals that somebody confirmed: as if the policy had
// never had those clusters. They neither count nor raise what may go later. The confirmation is spent.
func (c guardCounts) confirmed(count int, confirmation string) guardCounts {
	c.Recent = slices.Clone(c.Recent)
	for i := range c.Recent {
		c.Recent[i].Clusters = max(c.Recent[i].Clusters-int32(count), 0)
	}
	c.SpentConfirmation = confirmation
	return c
}

// CurrentWithdrawals is the record without what does not count any more: for a status that is written anyway.
func CurrentWithdrawals(record metav1alpha1.WithdrawalRecord, now time.Time) metav1alpha1.WithdrawalRecord {
	for _, namespace := range namespacesIn(record) {
		c := countsOf(record, namespace)
		c.Recent = c.current(now)
		record = withCounts(record, namespace, c)
	}
	return record
}

// namespacesIn are the namespaces of which a record has counts, and "" for the policy itself.
func namespacesIn(record metav1alpha1.WithdrawalRecord) []string {
	names := []string{""}
	for i := range record.Namespaces {
		names = append(names, record.Namespaces[i].Namespace)
	}
	return names
}

// current is a copy of the minutes that still count.
func (c guardCounts) current(now time.Time) []metav1alpha1.WithdrawalMinute {
	var left []metav1alpha1.WithdrawalMinute
	for _, minute := range c.Recent {
		if c.endOf(minute).After(now) {
			left = append(left, minute)
		}
	}
	return left
}

// settle brings the record up to what has happened. A confirmation that is there while nothing waits
// for one is spent: what it would confirm later is something else. One that was removed may be given again.
func (in *Input) settle() {
	if in.Policy.Deleting {
		return
	}
	_, unselected := match(*in)
	groups := in.groups(staying(unselected))
	for _, g := range groups {
		c := countsOf(in.Withdrawals, g.namespace).resolved(len(g.targets), g.has, in.Now)
		if begun := c.Underway; begun != nil && begun.Count == 0 {
			c.Underway = nil
		}
		if g.confirmation == "" || len(g.targets) == 0 {
			c.SpentConfirmation = g.confirmation
		}
		in.Withdrawals = withCounts(in.Withdrawals, g.namespace, c)
	}
	if !in.Policy.Shared {
		in.Withdrawals.Namespaces = nil
	}
}
