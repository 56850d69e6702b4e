package rollout

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/plural"
	"github.com/daytwo-dev/daytwo/controllers/internal/times"
)

// Withdrawal is what becomes of the targets whose clusters are not selected any more. It happens to all of a group or to
// none: what cannot be told apart from a mistake is not begun.
type Withdrawal struct {
	// Clusters that are to lose their target now.
	Clusters metav1alpha1.ClusterCount
	// Selected is how many clusters the policy selects that are not being deleted.
	Selected int32
	// Held: those of a group would be too many within an hour, and none of them loses it.
	Held bool
	// Confirmed: those of a group would be too many, and a person confirmed their number.
	Confirmed bool
	// Again is when earlier withdrawals do not count any more and more of these may happen; zero if that
	// alone does not help.
	Again time.Time

	record *metav1alpha1.WithdrawalRecord
	groups []decided
	held   sets.Set[string]
}

// decided is a group and what its guard says.
type decided struct {
	namespace string
	clusters  metav1alpha1.ClusterCount
	has       int
	// confirmation is what there is, and confirmedBy what there should be.
	confirmation, confirmedBy string

	held      bool
	confirmed bool
	again     time.Time
	recent    int
	limit     int
	spent     bool
	// full: nothing is held against it but that too many others are on record.
	full bool
}

// IsHeld is whether those are held back that are not selected any more: for those who see a Withdrawal through an interface.
func (w Withdrawal) IsHeld() bool { return len(w.groups) > 0 && w.groups[0].held }

// Count is how many those are.
func (w Withdrawal) Count() int32 {
	if len(w.groups) == 0 {
		return 0
	}
	return w.groups[0].clusters.Count
}

// holds is whether a target stays that is to go.
func (w Withdrawal) holds(target *Target) bool { return w.held.Has(target.Name) }

// SelectedCount is Selected, for those who see a Withdrawal through an interface.
func (w Withdrawal) SelectedCount() int32 { return w.Selected }

// Withdraw says what the guard makes of the clusters that a policy has and does not select any more.
// For admission, which asks before an edit is made: IsHeld is whether it would be stopped, and Explanation tells why.
func Withdraw(input Input) Withdrawal {
	pairs, unselected := match(input)
	found := input.withdraw(unselected)
	for _, p := range pairs {
		if !p.cluster.Deleting {
			found.Selected++
		}
	}
	return found
}

func (in Input) withdraw(unselected []*Target) Withdrawal {
	if in.Policy.Deleting {
		return Withdrawal{}
	}
	wanted := staying(unselected)
	found := Withdrawal{Clusters: clustersOf(&in.Policy, wanted), held: sets.New[string]()}
	record, underway := in.Withdrawals, false
	for _, g := range in.groups(wanted) {
		one, c := in.decide(g, record)
		found.groups = append(found.groups, one)
		found.Held, found.Confirmed = found.Held || one.held, found.Confirmed || one.confirmed
		found.Again = times.Earliest(found.Again, one.again)
		if one.held {
			found.held.Insert(namesOf(g.targets)...)
		}
		if c.Underway != nil {
			record, underway = withCounts(record, g.namespace, c), true
		}
	}
	if underway {
		found.record = &record
	}
	return found
}

// decide says whether the targets of a group go, and what is to be on record before they do.
func (in Input) decide(g group, record metav1alpha1.WithdrawalRecord) (decided, guardCounts) {
	guard := in.Policy.Guard
	c := countsOf(record, g.namespace).resolved(len(g.targets), g.has, in.Now)
	fresh := max(len(g.targets)-c.confirmedRest(), 0)
	recent, peak := c.recently(g.has, in.Now)
	found := decided{
		namespace: g.namespace, clusters: clustersOf(&in.Policy, g.targets), has: g.has, recent: recent, limit: guard.limit(peak),
		confirmation: g.confirmation, confirmedBy: g.confirmedBy(), spent: g.confirmation == c.SpentConfirmation,
	}
	switch {
	case len(g.targets) == 0:
	case isRecordFull(record, g.namespace):
		found.held, found.full, found.again = true, true, roomAt(record)
	case fresh == 0 || guard.allows(recent+fresh, peak):
		c = c.begun(len(g.targets), len(g.targets)-fresh, g.has)
	case found.confirmation == found.confirmedBy && !found.spent:
		found.confirmed = true
		c = c.confirmed(len(g.targets), g.confirmation).begun(len(g.targets), len(g.targets), g.has)
	default:
		found.held = true
		found.again = guard.allowedAt(c, fresh, g.has, in.Now)
	}
	return found, c
}

// confirmedBy is what confirms that the targets of the group go.
func (g *group) confirmedBy() string {
	number := strconv.Itoa(len(g.targets))
	if g.namespace == "" {
		return number
	}
	return g.namespace + "=" + number
}

// allowedAt is when enough of the earlier withdrawals do not count any more; zero for never.
func (g Guard) allowedAt(c guardCounts, fresh, has int, now time.Time) time.Time {
	for _, minute := range c.Recent {
		end := c.endOf(minute)
		recent, peak := c.recently(has, end)
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

// String tells a person why withdrawals are held back, and the ways out, before any name: a long
// message is cut.
func (w Withdrawal) String() string {
	return w.describe(func(d *decided) string { return d.explanation() + ". Held back: " + describe(d.clusters) })
}

// Explanation is the part of String that names no cluster.
func (w Withdrawal) Explanation() string { return w.describe((*decided).explanation) }

func (w Withdrawal) describe(text func(*decided) string) string {
	var texts []string
	for i := range w.groups {
		if w.groups[i].held {
			texts = append(texts, text(&w.groups[i]))
		}
	}
	return strings.Join(texts, ". ")
}

func (d *decided) explanation() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%d of %s", d.clusters.Count, plural.Of(d.has, "cluster"))
	if d.namespace != "" {
		fmt.Fprintf(&text, " of namespace %s", d.namespace)
	}
	text.WriteString(" would lose their target")
	if d.full {
		fmt.Fprintf(&text, ". They wait: in the last hour, clusters of %d other namespaces were deleted, and the record has no room for more", maxRecordedNamespaces)
		return text.String()
	}
	if d.recent > 0 {
		fmt.Fprintf(&text, ", beside %d in the last hour", d.recent)
	}
	fmt.Fprintf(&text, ", more than the %d allowed within an hour. If that is meant, set the annotation %s: %q",
		d.limit, metav1alpha1.AnnotationConfirmWithdrawal, d.confirmedBy)
	switch {
	case d.confirmation == "":
	case d.confirmation != d.confirmedBy:
		fmt.Fprintf(&text, " (it says %q)", d.confirmation)
	default:
		text.WriteString(" (the one that is there is from before: remove it first)")
	}
	if d.namespace == "" {
		text.WriteString("; if not, correct the selector or the labels")
	} else {
		text.WriteString("; their TenantClusters are being deleted, and wait until then")
	}
	return text.String()
}
