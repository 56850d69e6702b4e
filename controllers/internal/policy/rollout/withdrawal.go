package rollout

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

// Guard bounds how many clusters a policy loses within an hour before a person has to confirm it.
type Guard struct {
	// MaxClusters may always go; below 1 counts as 1. A policy that had no more within the hour is
	// not guarded.
	MaxClusters int
	// MaxPercent of the most clusters that the policy had within the hour, rounded down; 100 is no
	// guard.
	MaxPercent int
}

func (g Guard) floor() int { return max(g.MaxClusters, 1) }

// limit is how many may go within an hour.
func (g Guard) limit(peak int) int { return max(g.floor(), peak*g.MaxPercent/100) }

func (g Guard) allows(count, peak int) bool {
	return g.MaxPercent >= 100 || peak <= g.floor() || count <= g.limit(peak)
}

// Withdrawal is what becomes of the targets whose clusters are not selected any more. It happens
// to all of them or to none: what cannot be told apart from a mistake is not begun.
type Withdrawal struct {
	// Clusters that are to lose their target now.
	Clusters metav1alpha1.ClusterCount
	// Held: they would be too many within an hour, and none of them loses it.
	Held bool
	// Confirmed: they would be too many, and a person confirmed their number.
	Confirmed bool
	// Again is when earlier withdrawals do not count any more and these may happen; zero if that
	// alone does not help.
	Again time.Time

	record       *metav1alpha1.WithdrawalRecord
	has          int
	recent       int
	limit        int
	confirmation string
	spent        bool
}

// IsHeld is Held, for those who see a Withdrawal through an interface.
func (w Withdrawal) IsHeld() bool { return w.Held }

// Count is how many clusters there are.
func (w Withdrawal) Count() int32 { return w.Clusters.Count }

// Withdraw says what the guard makes of the clusters that a policy has and does not select any more.
// For admission, which asks before an edit is made: Held is whether it would be stopped, and String tells why.
func Withdraw(input Input) Withdrawal {
	_, unselected := match(input)
	return input.withdraw(unselected)
}

func (in Input) withdraw(unselected []*Target) Withdrawal {
	wanted := staying(unselected)
	if in.Policy.Deleting {
		return Withdrawal{}
	}
	guard, has := in.Policy.Guard, in.has()
	record := resolved(in.Withdrawals, len(wanted), has, in.Now)
	fresh := max(len(wanted)-confirmedRest(record), 0)
	recent, peak := recently(record, has, in.Now)
	found := Withdrawal{
		Clusters: clustersOf(&in.Policy, wanted), has: has, recent: recent, limit: guard.limit(peak),
		confirmation: in.Policy.Confirmation, spent: in.Policy.Confirmation == record.SpentConfirmation,
	}
	switch {
	case len(wanted) == 0:
	case fresh == 0 || guard.allows(recent+fresh, peak):
		record = begun(record, len(wanted), len(wanted)-fresh, has)
	case found.confirmation == strconv.Itoa(len(wanted)) && !found.spent:
		found.Confirmed = true
		record = begun(confirmed(record, len(wanted), found.confirmation), len(wanted), len(wanted), has)
	default:
		found.Held = true
		found.Again = guard.allowedAt(record, fresh, has, in.Now)
	}
	if record.Underway != nil {
		found.record = &record
	}
	return found
}

// allowedAt is when enough of the earlier withdrawals do not count any more; zero for never.
func (g Guard) allowedAt(record metav1alpha1.WithdrawalRecord, fresh, has int, now time.Time) time.Time {
	for _, minute := range record.Recent {
		end := endOf(minute)
		recent, peak := recently(record, has, end)
		if end.After(now) && g.allows(recent+fresh, peak) {
			return end
		}
	}
	return time.Time{}
}

func clustersOf(policy *Policy, targets []*Target) metav1alpha1.ClusterCount {
	var clusters []string
	for _, target := range targets {
		clusters = append(clusters, displayName(policy, target.Cluster))
	}
	return Count(clusters)
}

// String tells a person why the withdrawal is held back, and the ways out, before any name: a long
// message is cut.
func (w Withdrawal) String() string {
	return w.Explanation() + ". Held back: " + describe(w.Clusters)
}

// Explanation is the part of String that names no cluster.
func (w Withdrawal) Explanation() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%d of %s would lose their target", w.Clusters.Count, plural(int32(w.has)))
	if w.recent > 0 {
		fmt.Fprintf(&text, ", beside %d in the last hour", w.recent)
	}
	fmt.Fprintf(&text, ", more than the %d allowed within an hour. If that is meant, set the annotation %s: \"%d\"",
		w.limit, metav1alpha1.AnnotationConfirmWithdrawal, w.Clusters.Count)
	switch {
	case w.confirmation == "":
	case w.confirmation != strconv.Itoa(int(w.Clusters.Count)):
		fmt.Fprintf(&text, " (it says %q)", w.confirmation)
	default:
		text.WriteString(" (the one that is there is from before: remove it first)")
	}
	text.WriteString("; if not, correct the selector or the labels")
	return text.String()
}
