package rollout

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

const (
	// guardedSpan is how long a withdrawal counts.
	guardedSpan = time.Hour
	// recordedSpan is the precision of a record. A minute counts until its last second is old enough,
	// so at most 61 of them count.
	recordedSpan = time.Minute
)

// endOf is when a recorded minute does not count any more.
func endOf(minute metav1alpha1.WithdrawalMinute) time.Time {
	return minute.Minute.Add(recordedSpan + guardedSpan)
}

// recently is how many clusters were lost without confirmation in the hour before now, and the most
// that the policy had in it, apart from those that somebody let go. It has fewer only by losing some,
// and then the record has the number before; so the most is one of those, or what it has now.
func recently(record metav1alpha1.WithdrawalRecord, has int, now time.Time) (count, peak int) {
	peak = has - confirmedRest(record)
	for _, minute := range record.Recent {
		if endOf(minute).After(now) {
			count += int(minute.Count)
			peak = max(peak, int(minute.Clusters))
		}
	}
	return count, peak
}

// begun is the record of withdrawals that are about to happen.
func begun(record metav1alpha1.WithdrawalRecord, count, confirmed, has int) metav1alpha1.WithdrawalRecord {
	record.Underway = &metav1alpha1.WithdrawalsUnderway{Count: int32(count), Confirmed: int32(confirmed), Clusters: int32(has)}
	return record
}

// resolved is the record with those counted that were under way and have happened. That shows in the
// number of clusters, whether or not anybody wrote it down. Where some were confirmed and others
// were not, the latter came first. Of the rest, no more are under way than wait.
func resolved(record metav1alpha1.WithdrawalRecord, waiting, has int, now time.Time) metav1alpha1.WithdrawalRecord {
	begun := record.Underway
	if begun == nil {
		return record
	}
	happened := min(max(begun.Clusters-int32(has), 0), begun.Count)
	unconfirmed := min(happened, begun.Count-begun.Confirmed)
	if unconfirmed > 0 {
		record = counted(record, unconfirmed, begun.Clusters-begun.Confirmed, now)
	}
	record.Underway = &metav1alpha1.WithdrawalsUnderway{
		Count:     min(begun.Count-happened, int32(waiting)),
		Confirmed: min(begun.Confirmed-(happened-unconfirmed), int32(waiting)),
		Clusters:  int32(has),
	}
	return record
}

// confirmedRest is how many clusters may be lost since somebody confirmed it before.
func confirmedRest(record metav1alpha1.WithdrawalRecord) int {
	if record.Underway == nil {
		return 0
	}
	return int(record.Underway.Confirmed)
}

// counted is the record with further withdrawals, of so many clusters.
func counted(record metav1alpha1.WithdrawalRecord, count, clusters int32, now time.Time) metav1alpha1.WithdrawalRecord {
	record.Recent = current(record.Recent, now)
	this := now.Truncate(recordedSpan)
	// Never before the last one, though the clock was set back: the record stays in order and bounded.
	if last := len(record.Recent) - 1; last >= 0 && !record.Recent[last].Minute.Time.Before(this) {
		record.Recent[last].Count += count
		record.Recent[last].Clusters = max(record.Recent[last].Clusters, clusters)
		return record
	}
	record.Recent = append(record.Recent, metav1alpha1.WithdrawalMinute{Minute: metav1.NewTime(this), Count: count, Clusters: clusters})
	return record
}

// confirmed is the record after so many withdrawals that somebody confirmed: as if the policy had
// never had those clusters. They neither count nor raise what may go later. The confirmation is spent.
func confirmed(record metav1alpha1.WithdrawalRecord, count int, confirmation string) metav1alpha1.WithdrawalRecord {
	record.Recent = slices.Clone(record.Recent)
	for i := range record.Recent {
		record.Recent[i].Clusters = max(record.Recent[i].Clusters-int32(count), 0)
	}
	record.SpentConfirmation = confirmation
	return record
}

// CurrentWithdrawals is the record without what does not count any more: for a status that is written anyway.
func CurrentWithdrawals(record metav1alpha1.WithdrawalRecord, now time.Time) metav1alpha1.WithdrawalRecord {
	record.Recent = current(record.Recent, now)
	return record
}

// current is a copy of the minutes that still count.
func current(minutes []metav1alpha1.WithdrawalMinute, now time.Time) []metav1alpha1.WithdrawalMinute {
	var left []metav1alpha1.WithdrawalMinute
	for _, minute := range minutes {
		if endOf(minute).After(now) {
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
	waiting := len(staying(unselected))
	in.Withdrawals = resolved(in.Withdrawals, waiting, in.has(), in.Now)
	if begun := in.Withdrawals.Underway; begun != nil && begun.Count == 0 {
		in.Withdrawals.Underway = nil
	}
	if in.Policy.Confirmation == "" || waiting == 0 {
		in.Withdrawals.SpentConfirmation = in.Policy.Confirmation
	}
}
