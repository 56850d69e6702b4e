package rotation

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
)

var (
	first  = Reference{Generation: 1, Anchor: "a1"}
	second = Reference{Generation: 2, Anchor: "a2"}
	both   = Told{Trust: []int64{1, 2}, AnchorHash: AnchorHash("a1", "a2")}
	now    = beginning.Add(100 * time.Hour)
)

// with is what was told, with another issuer.
func (t Told) with(issuer int64) Told {
	t.Issuer = issuer
	return t
}

// settled is a cluster that acknowledged what it was told long ago.
func settled(name string, told Told) Cluster {
	return Cluster{
		ClusterKey: rollout.ClusterKey{Namespace: "team", Name: name}, ID: "id-" + name, Selected: true, Reachable: true,
		Target: &Target{Generation: 3, Told: told, Acknowledged: Acknowledgement{
			PolicyUID: "policy", Generation: 3, ClusterUID: "id-" + name, AnchorHash: told.AnchorHash, Issuer: told.Issuer, TrustSince: metav1.NewTime(beginning),
		}},
	}
}

// rotating is the input of a phase, with a list read past the cache.
func rotating(phase Phase, clusters ...Cluster) Input {
	in := Input{
		Namespace: "team", PolicyUID: "policy", Spec: Spec{CA: "second"}, Clusters: clusters, Listed: true, Now: now,
		Authorities: []Authority{{Generation: 1, Anchor: "a1", CreatedAt: beginning}, {Generation: 2, Anchor: "a2", CreatedAt: beginning}},
		Record:      Record{Phase: phase, Token: "second", Current: first, Next: second, LastGeneration: 2},
	}
	for i := range clusters {
		in.Membership = in.Membership.with([]rollout.ClusterKey{clusters[i].ClusterKey})
	}
	in.Record.Members = in.Membership.Reference()
	in.Record.Issued = phase == Switching || phase == Switched || phase == Completing
	if phase == Idle {
		in.Record.Next, in.Record.Members, in.Membership, in.Record.LastGeneration = Reference{}, Members{}, Membership{}, 1
		in.Authorities = in.Authorities[:1]
	}
	return in
}

// replaced is a cluster whose old leaf was replaced so long ago.
func replaced(ago time.Duration) func(*Cluster) {
	return func(c *Cluster) { c.Target.Acknowledged.ReplacedAt = metav1.NewTime(now.Add(-ago)) }
}

func unreachable(c *Cluster) { c.Reachable = false }

func TestEachPhaseLeadsToTheNextOnceNobodyIsWaitedFor(t *testing.T) {
	idle, back := only(first), only(second)
	for _, row := range []struct {
		name   string
		phase  Phase
		told   Told
		change func(in *Input)
		want   Phase
		wants  Told
	}{
		{"no token changed", Idle, idle, func(in *Input) { in.Record.Token = "second" }, Idle, idle},
		{"another token", Idle, idle, func(in *Input) { in.Spec.CA = "third" }, Preparing, idle},
		{"too old", Idle, idle, func(in *Input) { in.Spec.Age.Duration = 99 * time.Hour }, Preparing, idle},
		{"not too old", Idle, idle, func(in *Input) { in.Spec.Age.Duration = 101 * time.Hour }, Idle, idle},
		{"the authority is there", Preparing, idle, nil, Preparing, both.with(1)},
		{"all acknowledged", Preparing, both.with(1), nil, Prepared, both.with(1)},
		{"all acknowledged still", Prepared, both.with(1), nil, Switching, both.with(2)},
		{"all switched", Switching, both.with(2), nil, Switched, both.with(2)},
		{"the overlap passed", Switched, both.with(2), nil, Completing, back},
		{"the anchor is removed everywhere", Completing, back, nil, Idle, back},
		{"rolled back", Preparing, both.with(1), func(in *Input) { in.Spec.Rollback = 2 }, Switching, both.with(1)},
		{"rolled back while leaves change", Switching, both.with(2), func(in *Input) { in.Spec.Rollback = 2 }, Switching, both.with(1)},
		{"rolled back after leaves changed", Switched, both.with(2), func(in *Input) { in.Spec.Rollback = 2 }, Switching, both.with(1)},
		{"a rollback of another rotation", Switched, both.with(2), func(in *Input) { in.Spec.Rollback = 1 }, Completing, back},
		{"the rollback is taken back", Switched, both.with(1), func(in *Input) { in.Record.RollingBack = true }, Preparing, both.with(1)},
		{"the way back is complete", Completing, idle, func(in *Input) { in.Record.RollingBack, in.Spec.Rollback = true, 2 }, Idle, idle},
		{"too late to roll back", Completing, both.with(2), func(in *Input) { in.Spec.Rollback = 2 }, Completing, back},
		{"an emergency", Preparing, idle, func(in *Input) { in.Spec.EmergencyReason, in.Confirmation = "leaked", "2" }, Completing, back},
		{"an emergency that nobody confirmed", Preparing, idle, func(in *Input) { in.Spec.EmergencyReason = "leaked" }, Preparing, both.with(1)},
		{"a confirmation of another", Preparing, idle, func(in *Input) { in.Spec.EmergencyReason, in.Confirmation = "leaked", "1" }, Preparing, both.with(1)},
		{"a confirmation without a reason", Preparing, idle, func(in *Input) { in.Confirmation = "2" }, Preparing, both.with(1)},
		{"an emergency on the way back", Switching, both.with(2), func(in *Input) {
			in.Spec.EmergencyReason, in.Confirmation, in.Spec.Rollback, in.Record.RollingBack = "leaked", "2", 2, true
		}, Switching, both.with(1)},
		{"nobody lists", Preparing, both.with(1), func(in *Input) { in.Listed = false }, Preparing, both.with(1)},
	} {
		t.Run(row.name, func(t *testing.T) {
			in := rotating(row.phase, settled("a", row.told), settled("b", row.told))
			if row.change != nil {
				row.change(&in)
			}
			plan := PlanRotation(in)
			if plan.Record.Phase != row.want {
				t.Errorf("%s, not %s; blocked by %+v", plan.Record.Phase, row.want, plan.Blocked)
			}
			for _, want := range plan.Wants {
				if !reflect.DeepEqual(want.Told, row.wants) {
					t.Errorf("%s is told %+v", want.Cluster.Name, want.Told)
				}
			}
			if len(plan.Wants) != 2 {
				t.Errorf("told are %+v", plan.Wants)
			}
			if plan.NeedsList != !in.Listed {
				t.Errorf("a list is asked for: %t", plan.NeedsList)
			}
		})
	}
}

func TestTimesThatAreWaitedForWakeThePolicy(t *testing.T) {
	propagating := settled("a", both.with(1))
	propagating.Target.Acknowledged.TrustSince = metav1.NewTime(now.Add(-14 * time.Minute))
	overlapping := settled("a", both.with(2))
	replaced(23 * time.Hour)(&overlapping)
	aging := rotating(Idle, settled("a", only(first)))
	aging.Spec.Age.Duration = 102 * time.Hour
	for name, row := range map[string]struct {
		in   Input
		want time.Duration
	}{
		"trustPropagation": {rotating(Preparing, propagating), time.Minute},
		"minOverlap":       {rotating(Switched, overlapping), time.Hour},
		"age":              {aging, 2 * time.Hour},
		"a step":           {rotating(Preparing, settled("a", both.with(1))), 0},
	} {
		if plan := PlanRotation(row.in); !plan.Again.Equal(now.Add(row.want)) {
			t.Errorf("%s: again at %s", name, plan.Again)
		}
	}
	propagating.Target.Acknowledged.ReloadComplete = true
	if plan := PlanRotation(rotating(Preparing, propagating)); plan.Record.Phase != Prepared {
		t.Errorf("%s though all workloads have loaded the anchors", plan.Record.Phase)
	}
}

func TestARestoreReopensThePhase(t *testing.T) {
	trustLost := settled("b", both.with(2))
	trustLost.Target.Acknowledged.AnchorHash = only(first).AnchorHash
	leafLost := settled("b", both.with(2))
	leafLost.Target.Acknowledged.Issuer = 1
	storedAgain := settled("b", both.with(2))
	storedAgain.Target.Acknowledged.TrustSince = metav1.NewTime(now.Add(-time.Minute))
	for _, row := range []struct {
		name    string
		phase   Phase
		cluster Cluster
		want    Phase
	}{
		{"trust, before leaves change", Prepared, trustLost, Preparing},
		{"trust, while leaves change", Switching, trustLost, Preparing},
		{"trust, during the overlap", Switched, trustLost, Preparing},
		{"trust that is stored again and not loaded", Switching, storedAgain, Preparing},
		{"a leaf during the overlap", Switched, leafLost, Switching},
	} {
		t.Run(row.name, func(t *testing.T) {
			in := rotating(row.phase, settled("a", both.with(1)), row.cluster)
			if row.cluster.Target == leafLost.Target {
				in = rotating(row.phase, settled("a", both.with(2)), row.cluster)
			}
			in.Listed = false
			plan := PlanRotation(in)
			if plan.Record.Phase != row.want {
				t.Errorf("%s, not %s", plan.Record.Phase, row.want)
			}
			if told, _ := plan.For(in.Clusters[0].ClusterKey); told.Issuer != in.Clusters[0].Target.Told.Issuer {
				t.Errorf("the leaf of another cluster changes: %+v", told)
			}
		})
	}
}

func TestARemovalStopsWhileAClusterServesAnOldLeaf(t *testing.T) {
	restored := settled("b", only(second))
	restored.Target.Acknowledged.Issuer = 1
	waiting := settled("a", both.with(2))
	plan := PlanRotation(rotating(Completing, waiting, restored))
	if told, _ := plan.For(waiting.ClusterKey); !told.Equal(both.with(2)) {
		t.Errorf("the anchor is removed: %+v", told)
	}
	if told, _ := plan.For(restored.ClusterKey); !told.Equal(only(second)) {
		t.Errorf("an anchor comes back: %+v", told)
	}
}

func TestAClusterThatJoinsGetsBothAnchorsFirst(t *testing.T) {
	member := settled("a", both.with(1))
	joining := settled("b", both.with(0))
	for _, row := range []struct {
		name   string
		phase  Phase
		change func(c *Cluster)
		want   int64
	}{
		{"no target", Preparing, func(c *Cluster) { c.Target = nil }, 0},
		{"not acknowledged", Preparing, func(c *Cluster) { c.Target.Acknowledged = Acknowledgement{} }, 0},
		{"acknowledged", Preparing, nil, 1},
		{"not acknowledged while leaves change", Switching, func(c *Cluster) { c.Target.Acknowledged = Acknowledgement{} }, 0},
		{"acknowledged while leaves change", Switching, nil, 2},
	} {
		t.Run(row.name, func(t *testing.T) {
			joins := joining
			target := *joining.Target
			if joins.Target = &target; row.change != nil {
				row.change(&joins)
			}
			in := rotating(row.phase, member)
			in.Clusters = append(in.Clusters, joins)
			in.Gone = []rollout.ClusterKey{joins.ClusterKey}
			plan := PlanRotation(in)
			if told, _ := plan.For(joins.ClusterKey); !told.Equal(both.with(row.want)) {
				t.Errorf("it is told %+v", told)
			}
			if told, _ := plan.For(member.ClusterKey); told.AnchorHash != both.AnchorHash {
				t.Errorf("another cluster is told %+v", told)
			}
			if takesPart, _ := plan.Membership.Has(joins.ClusterKey); !takesPart || plan.Record.Members != plan.Membership.Reference() {
				t.Error("it is no member")
			}
		})
	}
}

// Whoever joins is waited for by nobody, and has to be asked again all the same.
func TestAClusterThatJoinsIsAskedAgainWhenItMayHaveLoadedTheAnchors(t *testing.T) {
	for _, phase := range []Phase{Preparing, Switching, Switched} {
		joining := settled("b", both.with(0))
		joining.Target.Acknowledged.TrustSince = metav1.NewTime(now.Add(-time.Minute))
		others := both.with(1)
		if phase != Preparing {
			others = both.with(2)
		}
		in := rotating(phase, settled("a", others), joining)
		unreachable(&in.Clusters[0]) // Nothing else wakes the policy.
		if got, want := PlanRotation(in).Again, now.Add(14*time.Minute); !got.Equal(want) {
			t.Errorf("%s: again at %s, not at %s", phase, got, want)
		}
	}
}

// A cluster in which something else was seen than it was told may have an old leaf, too.
func TestNoAnchorIsRemovedWhileAClusterIsNotAsItWasTold(t *testing.T) {
	for _, phase := range []Phase{Switched, Completing} {
		differing := settled("b", both.with(2))
		differing.Target.Acknowledged.AnchorHash, differing.Target.Acknowledged.TrustSince = "", metav1.Time{}
		plan := PlanRotation(rotating(phase, settled("a", both.with(2)), differing))
		if told, _ := plan.For(rollout.ClusterKey{Namespace: "team", Name: "a"}); len(told.Trust) != 2 {
			t.Errorf("%s: the other cluster is told %+v", phase, told)
		}
	}
}

func TestTheWayBackDoesNotNeedTheNextAuthorityBeforeItHasIssued(t *testing.T) {
	lost := func(phase Phase) Input {
		in := rotating(phase, settled("a", both.with(1)))
		in.Authorities = in.Authorities[:1]
		return in
	}
	in := lost(Preparing)
	plan := PlanRotation(in)
	if !plan.Held || len(plan.Notices) != 1 || !strings.Contains(plan.Notices[0].Message, "spec.rotation.rollback: 2") {
		t.Errorf("it is told %+v", plan.Notices)
	}
	in.Spec.Rollback = 2
	if plan = PlanRotation(in); plan.Held || !plan.Record.RollingBack || plan.Record.Phase != Switching {
		t.Errorf("rolled back, it is %+v, held %t", plan.Record, plan.Held)
	}
	in = lost(Switching)
	in.Spec.Rollback = 2
	if plan = PlanRotation(in); !plan.Held || plan.Record.RollingBack {
		t.Errorf("with leaves of it, it is %+v, held %t", plan.Record, plan.Held)
	}
}

func TestNoLeafChangesWhileAMemberIsMissing(t *testing.T) {
	in := rotating(Switching, settled("a", both.with(1)), settled("b", both.with(2)))
	in.Clusters = in.Clusters[:1]
	plan := PlanRotation(in)
	if told, _ := plan.For(in.Clusters[0].ClusterKey); !told.Equal(both.with(1)) {
		t.Errorf("told is %+v", told)
	}
}

func TestTheRecordSaysThatLeavesMayBeIssuedBeforeAnyIs(t *testing.T) {
	if plan := PlanRotation(rotating(Prepared, settled("a", both.with(1)))); !plan.Record.Issued {
		t.Errorf("the record is %+v", plan.Record)
	}
}

func TestAMemberThatIsNotListedIsLookedUp(t *testing.T) {
	in := rotating(Preparing, settled("a", both.with(1)), settled("b", both.with(1)))
	missing := in.Clusters[1].ClusterKey
	in.Clusters, in.Listed = in.Clusters[:1], false
	if plan := PlanRotation(in); !plan.NeedsList || len(plan.LookUp) > 0 {
		t.Errorf("without a list: %+v", plan)
	}
	in.Listed = true
	if plan := PlanRotation(in); !slices.Equal(plan.LookUp, []rollout.ClusterKey{missing}) || plan.Record.Phase != Preparing {
		t.Errorf("with a list: %+v", plan)
	}
	in.Gone = []rollout.ClusterKey{missing}
	plan := PlanRotation(in)
	if _, gone := plan.Membership.Has(missing); !gone || plan.Record.Phase != Prepared || plan.Record.Members.Count != 2 {
		t.Errorf("after the look: %+v", plan)
	}
}

func TestAuthoritiesAreMadeOnceAndGoWhenNothingNeedsThem(t *testing.T) {
	created := PlanRotation(Input{Namespace: "team", Spec: Spec{CA: "x"}, Listed: true, Now: now})
	if created.MakeAuthority != 1 || created.Record.Phase != Idle || created.Record.Token != "x" || len(created.Gates) != 1 {
		t.Errorf("a new policy: %+v", created)
	}
	in := rotating(Preparing, settled("a", only(first)))
	in.Authorities, in.Record.Next.Anchor = in.Authorities[:1], ""
	if plan := PlanRotation(in); plan.MakeAuthority != 2 || plan.Blocked[0].Reason != ReasonAuthorityPending {
		t.Errorf("a rotation: %+v", plan)
	}
	idle := rotating(Idle, settled("a", only(first)))
	idle.Authorities = append(idle.Authorities, Authority{Generation: 7, Anchor: "a7"})
	idle.Spec.CA = "third"
	if plan := PlanRotation(idle); !slices.Equal(plan.Retired, []int64{7}) || plan.Record.Next.Generation != 8 {
		t.Errorf("one from before: %+v", plan)
	}
}

func TestOrderOfInputDoesNotMatter(t *testing.T) {
	source := rand.New(rand.NewPCG(1, 2))
	for _, phase := range []Phase{Idle, Preparing, Switching, Switched, Completing} {
		in := rotating(phase, settled("a", both.with(1)), settled("b", both.with(2)), settled("c", only(first)), settled("d", both.with(0)))
		in.Clusters[2].Reachable = false
		plan := PlanRotation(in)
		for range 20 {
			source.Shuffle(len(in.Clusters), func(i, j int) { in.Clusters[i], in.Clusters[j] = in.Clusters[j], in.Clusters[i] })
			slices.Reverse(in.Authorities)
			if again := PlanRotation(in); !reflect.DeepEqual(plan, again) {
				t.Fatalf("another order gives another plan: %+v, %+v", plan, again)
			}
		}
	}
}
