package rotation

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
)

func TestABlockedStepTellsWhatForWhereAndWhatToDo(t *testing.T) {
	excluded := "; if that does not end, exclude them by name with a reason in spec.rotation.exclude"
	for _, row := range []struct {
		name    string
		phase   Phase
		told    Told
		change  func(c *Cluster)
		message string
	}{
		{ReasonUnreachable, Preparing, both.with(1), unreachable, "waiting for an answer in 1 cluster (b); bring them back, or exclude them by name with a reason in spec.rotation.exclude"},
		{ReasonWithdrawalHeld, Preparing, only(first), func(c *Cluster) { c.Selected = false },
			"waiting for the withdrawal guard in 1 cluster (b); confirm the withdrawal, or correct the selector or the labels"},
		{ReasonNotTold, Preparing, only(first), nil, "waiting until deliveries tell the anchors in 1 cluster (b)" + excluded},
		{ReasonNotAcknowledged, Preparing, both.with(1), func(c *Cluster) { c.Target.Generation++ }, "waiting until what was told is acknowledged in 1 cluster (b); see the CertificateDelivery" + excluded},
		{ReasonNotAcknowledged, Preparing, both.with(1), func(c *Cluster) { c.Target.Acknowledged.PolicyUID = "former" }, "waiting until what was told is acknowledged in 1 cluster (b); see the CertificateDelivery" + excluded},
		{ReasonOtherCluster, Preparing, both.with(1), func(c *Cluster) { c.ID = "other" }, "waiting for an acknowledgement of the cluster that is admitted in 1 cluster (b)" + excluded},
		{ReasonTrustDiffers, Preparing, both.with(1), func(c *Cluster) { c.Target.Acknowledged.AnchorHash = "old" }, "waiting until the anchors that were told are stored again in 1 cluster (b)" + excluded},
		{ReasonPropagating, Preparing, both.with(1), func(c *Cluster) { c.Target.Acknowledged.TrustSince = metav1.NewTime(now.Add(-14 * time.Minute)) },
			"waiting until workloads have loaded the anchors (spec.rotation.trustPropagation) in 1 cluster (b)"},
		{ReasonNotSwitched, Switching, both.with(1), nil, "waiting until the leaf is issued from the other authority in 1 cluster (b); see the condition Issued, and the CertificateDelivery" + excluded},
		{ReasonNotSwitched, Switching, both.with(2), func(c *Cluster) { c.Target.Acknowledged.Issuer = 1 },
			"waiting until the leaf is issued from the other authority in 1 cluster (b); see the condition Issued, and the CertificateDelivery" + excluded},
		{ReasonNotAcknowledged, Switching, both.with(2), func(c *Cluster) { c.Target.Generation++ }, "waiting until what was told is acknowledged in 1 cluster (b); see the CertificateDelivery" + excluded},
		{ReasonTrustDiffers, Preparing, both.with(0), func(c *Cluster) { c.Target.Acknowledged.AnchorHash = "old" },
			"waiting until the anchors that were told are stored again in 1 cluster (b)" + excluded},
		{ReasonOverlap, Switched, both.with(2), replaced(23 * time.Hour), "waiting for the overlap since the last old leaf was replaced (spec.rotation.minOverlap) in 1 cluster (b)"},
		{ReasonLeaving, Switched, both.with(1), func(c *Cluster) { c.Leaving = true },
			"waiting until the target is deleted in 1 cluster (b); if a cluster is lost, abandon its target, or exclude it by name with a reason in spec.rotation.exclude"},
		{ReasonMissing, Preparing, both.with(1), func(c *Cluster) { c.Target = nil }, "waiting for a read by name of targets that the list does not show in 1 cluster (b)" + excluded},
	} {
		t.Run(row.name, func(t *testing.T) {
			others := both.with(1)
			if row.phase != Preparing {
				others = both.with(2)
			}
			blocked := settled("b", row.told)
			if row.change != nil {
				row.change(&blocked)
			}
			in := rotating(row.phase, settled("a", others), blocked)
			plan := PlanRotation(in)
			if plan.Record.Phase != row.phase || len(plan.Blocked) != 1 || plan.Blocked[0].Reason != row.name || plan.Blocked[0].Message != row.message {
				t.Errorf("%s, blocked by %+v", plan.Record.Phase, plan.Blocked)
			}
			in.Spec.Exclude = []Exclusion{{Cluster: "b"}}
			if PlanRotation(in).Record.Phase != row.phase {
				t.Error("an exclusion without a reason counts")
			}
			in.Spec.Exclude[0].Reason = "lost"
			if plan := PlanRotation(in); plan.Record.Phase == row.phase {
				t.Errorf("an excluded cluster blocks: %+v", plan.Blocked)
			}
		})
	}
}

func TestWhatCannotBeDoneIsToldAndDoesNoHarm(t *testing.T) {
	for _, row := range []struct {
		reason string
		phase  Phase
		change func(in *Input)
		held   bool
	}{
		{ReasonAuthorityLost, Switching, func(in *Input) { in.Authorities = in.Authorities[:1] }, true},
		{ReasonAuthorityChanged, Switching, func(in *Input) { in.Authorities[1].Anchor = "other" }, true},
		{ReasonRecordLost, Switching, func(in *Input) { in.Record, in.Membership = Record{}, Membership{} }, false},
		{ReasonMembersLost, Switching, func(in *Input) { in.Membership = Membership{} }, false},
		{ReasonRotationUnderway, Switching, func(in *Input) { in.Spec.CA = "third" }, false},
		{ReasonRollbackRefused, Completing, func(in *Input) { in.Spec.Rollback = 2 }, false},
		{ReasonRollbackWaits, Preparing, func(in *Input) { in.Spec.Rollback, in.Record.Adopted = 2, true }, false},
		{ReasonEmergency, Preparing, func(in *Input) { in.Spec.EmergencyReason, in.Confirmation = "leaked", "2" }, false},
		{ReasonEmergencyUnconfirmed, Preparing, func(in *Input) { in.Spec.EmergencyReason = "leaked" }, false},
		{ReasonEmergencyRefused, Switching, func(in *Input) {
			in.Spec.EmergencyReason, in.Spec.Rollback, in.Record.RollingBack = "leaked", 2, true
		}, false},
		{ReasonTooManyClusters, Idle, func(in *Input) {
			in.Spec.CA = "third"
			for i := range MaxMembershipBytes / 250 {
				in.Clusters = append(in.Clusters, Cluster{ClusterKey: rollout.ClusterKey{Namespace: "team", Name: fmt.Sprintf("%0250d", i)}, Selected: true})
			}
		}, false},
	} {
		t.Run(row.reason, func(t *testing.T) {
			in := rotating(row.phase, settled("a", both.with(1)))
			row.change(&in)
			plan := PlanRotation(in)
			if !slices.ContainsFunc(plan.Notices, func(n Notice) bool { return n.Reason == row.reason && n.Message != "" }) {
				t.Errorf("told is %+v", plan.Notices)
			}
			if held := len(plan.Gates) > 0; held != row.held {
				t.Errorf("held: %t", held)
			}
			if told, _ := plan.For(in.Clusters[0].ClusterKey); row.held && !told.Equal(in.Clusters[0].Target.Told) {
				t.Errorf("something changes: %+v", told)
			}
		})
	}
}

func TestAnEmergencySaysWhatBreaks(t *testing.T) {
	in := rotating(Preparing, settled("a", both.with(1)), settled("b", only(first)))
	in.Spec.EmergencyReason = "leaked"
	for _, notice := range PlanRotation(in).Notices {
		if !strings.Contains(notice.Message, "not loaded in 1 cluster (b)") || !strings.Contains(notice.Message, `confirms it with "2"`) {
			t.Errorf("told is %q", notice.Message)
		}
	}
}

func TestBlockersStayBounded(t *testing.T) {
	var clusters []Cluster
	for i := range 5000 {
		one := settled(fmt.Sprintf("cluster-%04d", i), both.with(1))
		one.Reachable = false
		clusters = append(clusters, one)
	}
	plan := PlanRotation(rotating(Preparing, clusters...))
	if count := plan.Blocked[0].Clusters; len(plan.Blocked) != 1 || count.Count != 5000 || len(count.Names) != 10 || len(plan.Blocked[0].Message) > 400 {
		t.Errorf("blocked by %+v", plan.Blocked)
	}
	encoded, err := plan.Membership.Encode()
	if err != nil || len(encoded) > 30_000 {
		t.Errorf("%d bytes, %v", len(encoded), err)
	}
}
