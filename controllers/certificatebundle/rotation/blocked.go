package rotation

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
)

// Reasons of a Blocker.
const (
	// ReasonAuthorityPending: an authority is being made.
	ReasonAuthorityPending = "AuthorityPending"
	// ReasonMissing: a cluster that takes part is not in the list.
	ReasonMissing = "ClusterMissing"
	// ReasonUnreachable: a cluster does not answer.
	ReasonUnreachable = "ClusterUnreachable"
	// ReasonWithdrawalHeld: a cluster is not selected any more, and the withdrawal guard holds its target.
	ReasonWithdrawalHeld = "WithdrawalHeld"
	// ReasonNotTold: the target does not tell the anchors yet, because of slots or gates of the rollout.
	ReasonNotTold = "NotTold"
	// ReasonNotAcknowledged: the target has not carried out what it tells.
	ReasonNotAcknowledged = "NotAcknowledged"
	// ReasonOtherCluster: another cluster answered than the one that is admitted.
	ReasonOtherCluster = "OtherCluster"
	// ReasonTrustDiffers: the cluster has other anchors than it was told, such as after a restore.
	ReasonTrustDiffers = "TrustDiffers"
	// ReasonPropagating: workloads may not have loaded the anchors yet.
	ReasonPropagating = "TrustPropagating"
	// ReasonNotSwitched: the leaf is not from the other authority yet, or again not.
	ReasonNotSwitched = "LeafNotSwitched"
	// ReasonOverlap: the overlap since the last old leaf was replaced has not passed.
	ReasonOverlap = "Overlap"
	// ReasonLeaving: the target is being deleted, and may still serve an old leaf.
	ReasonLeaving = "ClusterLeaving"
)

// Reasons of a Notice, and of the gate.
const (
	// ReasonRotationHeld: it is not known what to tell clusters.
	ReasonRotationHeld = "RotationHeld"
	// ReasonAuthorityLost: an authority that clusters depend on is not there.
	ReasonAuthorityLost = "AuthorityLost"
	// ReasonAuthorityChanged: an authority has another certificate than clusters were told.
	ReasonAuthorityChanged = "AuthorityChanged"
	// ReasonMembersLost: the membership is not there.
	ReasonMembersLost = "MembersLost"
	// ReasonRecordLost: the record is not there.
	ReasonRecordLost = "RecordLost"
	// ReasonTooManyClusters: the membership would not fit.
	ReasonTooManyClusters = "TooManyClusters"
	// ReasonRotationUnderway: the next rotation waits for this one.
	ReasonRotationUnderway = "RotationUnderway"
	// ReasonRollbackRefused: there is no way back any more.
	ReasonRollbackRefused = "RollbackRefused"
	// ReasonRollbackWaits: the rollback waits until both anchors are trusted.
	ReasonRollbackWaits = "RollbackWaits"
	// ReasonEmergency: the overlap is skipped.
	ReasonEmergency = "Emergency"
	// ReasonEmergencyRefused: an emergency and a rollback contradict each other.
	ReasonEmergencyRefused = "EmergencyRefused"
	// ReasonEmergencyUnconfirmed: the provider has not confirmed an emergency.
	ReasonEmergencyUnconfirmed = "EmergencyUnconfirmed"
)

// Notice is what a person should know.
type Notice struct {
	Reason  string
	Message string
}

const orExclude = "; if that does not end, exclude them by name with a reason in spec.rotation.exclude"

// waitingFor is what people are told of clusters. The names follow the text before the bar, what can be done is after it.
var waitingFor = map[string]string{
	ReasonMissing:         "waiting for a read by name of targets that the list does not show|" + orExclude,
	ReasonUnreachable:     "waiting for an answer|; bring them back, or exclude them by name with a reason in spec.rotation.exclude",
	ReasonWithdrawalHeld:  "waiting for the withdrawal guard|; confirm the withdrawal, or correct the selector or the labels",
	ReasonNotTold:         "waiting until deliveries tell the anchors|" + orExclude,
	ReasonNotAcknowledged: "waiting until what was told is acknowledged|; see the CertificateDelivery" + orExclude,
	ReasonOtherCluster:    "waiting for an acknowledgement of the cluster that is admitted|" + orExclude,
	ReasonTrustDiffers:    "waiting until the anchors that were told are stored again|" + orExclude,
	ReasonPropagating:     "waiting until workloads have loaded the anchors (spec.rotation.trustPropagation)|",
	ReasonNotSwitched:     "waiting until the leaf is issued from the other authority|; see the condition Issued, and the CertificateDelivery" + orExclude,
	ReasonOverlap:         "waiting for the overlap since the last old leaf was replaced (spec.rotation.minOverlap)|",
	ReasonLeaving:         "waiting until the target is deleted|; if a cluster is lost, abandon its target, or exclude it by name with a reason in spec.rotation.exclude",
}

// awaited is a Blocker in the making.
type awaited struct {
	names   []string
	message string
}

// await adds a cluster to those that are waited for, and asks for what may end that.
func (p *planner) await(m *member, found finding) {
	if found.reason == "" {
		return
	}
	p.again(found.until)
	if found.reason == ReasonMissing {
		p.lookUp(m)
	}
	entry := p.awaited[found.reason]
	if entry == nil {
		entry = &awaited{}
		p.awaited[found.reason] = entry
	}
	entry.names = append(entry.names, displayName(p.Namespace, m.key))
}

// lookUp asks for a read by name, after a list that could do without it.
func (p *planner) lookUp(m *member) {
	if m.cluster == nil && !p.Listed {
		p.plan.NeedsList = true
		return
	}
	p.plan.LookUp = append(p.plan.LookUp, m.key)
}

// wait adds something to wait for that is no cluster.
func (p *planner) wait(reason, message string) { p.awaited[reason] = &awaited{message: message} }

func (p *planner) isWaiting() bool { return len(p.awaited) > 0 }

func (p *planner) notice(reason, message string) {
	p.plan.Notices = append(p.plan.Notices, Notice{reason, message})
}

// blockers are what is waited for, that of the most clusters first.
func (p *planner) blockers() (list []Blocker) {
	for reason, entry := range p.awaited {
		slices.Sort(entry.names)
		blocker := Blocker{Reason: reason, Message: entry.message, Clusters: rollout.Count(slices.Compact(entry.names))}
		if entry.message == "" {
			waits, remedy, _ := strings.Cut(waitingFor[reason], "|")
			blocker.Message = waits + " in " + describe(blocker.Clusters) + remedy
		}
		list = append(list, blocker)
	}
	slices.SortFunc(list, func(a, b Blocker) int {
		return cmp.Or(cmp.Compare(b.Clusters.Count, a.Clusters.Count), strings.Compare(a.Reason, b.Reason))
	})
	return list
}

// describe is a count in words: "2 clusters (a, b)".
func describe(count metav1alpha1.ClusterCount) string {
	names := strings.Join(count.Names, ", ")
	if int(count.Count) > len(count.Names) {
		names += ", …"
	}
	if count.Count == 1 {
		return fmt.Sprintf("1 cluster (%s)", names)
	}
	return fmt.Sprintf("%d clusters (%s)", count.Count, names)
}
