package rollout

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

func TestVerdict(t *testing.T) {
	away := with(cluster("b"), func(c *Cluster) { c.Connected = false })
	tests := map[string]struct {
		policy      Policy
		clusters    []Cluster
		targets     []Target
		ready       metav1.ConditionStatus
		reason      string
		message     string
		reconciling bool
	}{
		"all ready": {
			policy: policy(1), clusters: []Cluster{cluster("a")}, targets: []Target{target("a", newRevision, Ready)},
			ready: metav1.ConditionTrue, reason: metav1alpha1.ReasonSucceeded, message: "ready in 1 cluster",
		},
		"nothing selected": {
			policy: policy(1), ready: metav1.ConditionTrue, reason: metav1alpha1.ReasonNoClusters, message: "no TenantCluster",
		},
		"rolling out": {
			policy: policy(1), clusters: []Cluster{cluster("a"), cluster("b")}, targets: []Target{target("a", newRevision, Progressing)},
			ready: metav1.ConditionFalse, reason: metav1alpha1.ReasonRollingOut, message: "1 of 2 clusters updated, 0 ready", reconciling: true,
		},
		"a revision that no cluster has applied yet updates none": {
			policy: policy(2), clusters: []Cluster{cluster("a"), cluster("b")},
			targets: []Target{target("a", newRevision, Ready), with(target("b", newRevision, Progressing), func(t *Target) { t.Applied = false })},
			ready:   metav1.ConditionFalse, reason: metav1alpha1.ReasonRollingOut, message: "1 of 2 clusters updated, 1 ready", reconciling: true,
		},
		"what stands still is named, with its reason": {
			policy: policy(2), clusters: []Cluster{cluster("a"), cluster("b")},
			targets: []Target{target("a", newRevision, Progressing), with(target("b", newRevision, Progressing), func(t *Target) {
				t.Standing, t.Message = true, "apps/v1/Deployment/web: pod web-1 is not scheduled; since 2030-01-01T00:00:00Z"
			})},
			ready: metav1.ConditionFalse, reason: metav1alpha1.ReasonStandstill, reconciling: true,
			message: "stands still in 1 cluster (b); b: apps/v1/Deployment/web: pod web-1 is not scheduled; since 2030-01-01T00:00:00Z; 2 of 2 clusters updated",
		},
		"ready at the old revision only": {
			policy: policy(1), clusters: []Cluster{cluster("a")}, targets: []Target{target("a", oldRevision, Ready)},
			ready: metav1.ConditionFalse, reason: metav1alpha1.ReasonRollingOut, message: "0 of 1 clusters updated", reconciling: true,
		},
		"a failure outweighs an unreachable cluster, and is told": {
			policy: policy(1), clusters: []Cluster{cluster("a"), away},
			targets: []Target{
				with(target("a", newRevision, Failed), func(t *Target) { t.Message = "apps/v1/Deployment/web: no image" }),
				target("b", newRevision, Ready),
			},
			ready: metav1.ConditionFalse, reason: metav1alpha1.ReasonTargetsFailed, message: "a: apps/v1/Deployment/web: no image",
		},
		"nothing stays ready on old news": {
			policy: policy(1), clusters: []Cluster{cluster("a"), away},
			targets: []Target{target("a", newRevision, Ready), target("b", newRevision, Ready)},
			ready:   metav1.ConditionUnknown, reason: metav1alpha1.ReasonClusterUnreachable, message: "no answer from 1 cluster (b); 2 of 2 clusters updated, 1 ready",
		},
		"a cluster that refuses the credentials is not said to be silent": {
			policy: policy(1), clusters: []Cluster{cluster("a"), with(away, func(c *Cluster) { c.Unusable = "The client certificate in Secret access expired" })},
			targets: []Target{target("a", newRevision, Ready), target("b", newRevision, Unusable)},
			ready:   metav1.ConditionUnknown, reason: metav1alpha1.ReasonClusterUnusable,
			message: "unknown in 1 cluster (b); b: The client certificate in Secret access expired; 2 of 2 clusters updated, 1 ready",
		},
		"the silent ones and the unusable ones are told apart": {
			policy: policy(1), clusters: []Cluster{cluster("a"), away},
			targets: []Target{with(target("a", newRevision, Unusable), func(t *Target) { t.Message = "pods cannot be listed" }), target("b", newRevision, Ready)},
			ready:   metav1.ConditionUnknown, reason: metav1alpha1.ReasonClusterUnreachable,
			message: "no answer from 1 cluster (b); unknown in 1 cluster (a); a: pods cannot be listed; 2 of 2 clusters updated, 0 ready",
		},
		"a cluster about to be deleted is told of, and no reason not to be ready": {
			policy: policy(1), clusters: []Cluster{cluster("a"), with(cluster("b"), func(c *Cluster) { c.Deleting, c.Gates = true, []Gate{terminatingGate} })},
			targets: []Target{target("a", newRevision, Ready), target("b", oldRevision, Failed)},
			ready:   metav1.ConditionTrue, reason: metav1alpha1.ReasonSucceeded, message: "ready in 1 cluster; still to be removed from 1 cluster (b)",
		},
		"suspended before it is done": {
			policy:   with(policy(1), func(p *Policy) { p.Gates = []Gate{suspendedGate} }),
			clusters: []Cluster{cluster("a")}, targets: []Target{target("a", oldRevision, Ready)},
			ready: metav1.ConditionFalse, reason: metav1alpha1.ReasonSuspended, message: "held back by suspension in 1 cluster (a)",
		},
		"every reason to wait is told": {
			policy: policy(1), clusters: []Cluster{cluster("a"), with(cluster("b"), func(c *Cluster) { c.Gates = []Gate{windowGate} }), with(cluster("c"), func(c *Cluster) { c.Gates = []Gate{suspendedGate} })},
			targets: []Target{target("a", newRevision, Ready), target("b", oldRevision, Ready), target("c", oldRevision, Ready)},
			ready:   metav1.ConditionFalse, reason: metav1alpha1.ReasonSuspended,
			message: "held back by suspension in 1 cluster (c); waiting for a maintenance window in 1 cluster (b); 1 of 3 clusters updated, 1 ready",
		},
		"deleting says what is left and why": {
			policy: with(policy(1), func(p *Policy) { p.Deleting = true }),
			targets: []Target{with(target("b", newRevision, Unreachable), func(t *Target) {
				t.Deleting, t.Message = true, "3 objects are left in the cluster"
			})},
			ready: metav1.ConditionFalse, reason: metav1alpha1.ReasonDeleting,
			message: "still to be removed from 1 cluster (b); b: 3 objects are left in the cluster", reconciling: true,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			input := Input{Policy: test.policy, Clusters: test.clusters, Targets: test.targets}
			verdict := Conclude(test.policy, Summarize(input))
			if verdict.Ready != test.ready || verdict.Reason != test.reason || verdict.Reconciling != test.reconciling || verdict.Stalled {
				t.Errorf("got %+v, want %s/%s, reconciling %t", verdict, test.ready, test.reason, test.reconciling)
			}
			if !strings.Contains(verdict.Message, test.message) {
				t.Errorf("message %q lacks %q", verdict.Message, test.message)
			}
		})
	}
}

func TestConditionsKeepTheirTransitionTime(t *testing.T) {
	var conditions []metav1.Condition
	start := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	Verdict{Ready: metav1.ConditionFalse, Reason: "A", Reconciling: true}.Write(&conditions, 1, start)
	Verdict{Ready: metav1.ConditionFalse, Reason: "B"}.Write(&conditions, 2, start.Add(time.Hour))

	ready := meta.FindStatusCondition(conditions, metav1alpha1.ConditionReady)
	if !ready.LastTransitionTime.Time.Equal(start) || ready.Reason != "B" || ready.ObservedGeneration != 2 {
		t.Errorf("got %+v", ready)
	}
	if len(conditions) != 1 {
		t.Errorf("Reconciling is still there: %+v", conditions)
	}
}

func TestACountNamesTheFirstTen(t *testing.T) {
	var all []string
	for _, letter := range "lkjihgfedcba" {
		all = append(all, string(letter))
	}
	if count := Count(all); count.Count != 12 || strings.Join(count.Names, "") != "abcdefghij" {
		t.Errorf("got %+v", count)
	}
}
