package trial

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
)

var errLost = errors.New("worker lost")

func keys(namespace string, count int) (all []rollout.ClusterKey) {
	for i := range count {
		all = append(all, rollout.ClusterKey{Namespace: namespace, Name: fmt.Sprintf("c%02d", i)})
	}
	return all
}

func TestATrialEndsWithTheFirstClusterThatItsContentSuits(t *testing.T) {
	tried := 0
	refused, err := Run(t.Context(), keys("acme", 5), func(_ context.Context, cluster rollout.ClusterKey) error {
		tried++
		if cluster.Name == "c02" {
			return nil
		}
		return &Refusal{Message: "no label"}
	})
	if refused != nil || err != nil || tried != 3 {
		t.Errorf("refused %v, %v after %d clusters", refused, err, tried)
	}
}

func TestARefusalTellsOfTheFirstCluster(t *testing.T) {
	refused, err := Run(t.Context(), keys("acme", 2), func(_ context.Context, cluster rollout.ClusterKey) error {
		return fmt.Errorf("render: %w", &Refusal{Message: "no label in " + cluster.Name})
	})
	if err != nil || refused == nil || *refused != (Refused{Cluster: keys("acme", 1)[0], Message: "no label in c00", Tried: 2}) {
		t.Errorf("refused %+v, %v", refused, err)
	}
}

func TestWhatIsCostlyIsTriedThrice(t *testing.T) {
	tried := 0
	refused, err := Run(t.Context(), keys("acme", 30), func(context.Context, rollout.ClusterKey) error {
		tried++
		return &Refusal{Message: "a loop", Costly: true}
	})
	if err != nil || refused == nil || tried != maxCostly {
		t.Errorf("refused %v, %v after %d", refused, err, tried)
	}
}

func TestWhatCannotBeToldIsNoRefusal(t *testing.T) {
	refused, err := Run(t.Context(), keys("acme", 3), func(context.Context, rollout.ClusterKey) error { return errLost })
	if refused != nil || !errors.Is(err, errLost) {
		t.Errorf("refused %v, %v", refused, err)
	}
}

// One customer's clusters, however many, do not decide about those of another.
func TestClustersOfAllNamespacesAreTried(t *testing.T) {
	chosen := Choose(append(keys("acme", 500), keys("zeta", 1)...))
	if len(chosen) != maxClusters || !slices.Contains(chosen, rollout.ClusterKey{Namespace: "zeta", Name: "c00"}) {
		t.Errorf("chose %v", chosen)
	}
	if few := Choose(keys("acme", 3)); len(few) != 3 {
		t.Errorf("chose %v of three", few)
	}
	if none := Choose(nil); len(none) != 0 {
		t.Errorf("chose %v of none", none)
	}
}

// trials are those of one add-on.
type trials struct {
	*testing.T
	*Memory
	addon *addonsv1alpha1.SaaSAddon
	tried [][]rollout.ClusterKey
}

func newTrials(t *testing.T) *trials {
	memory := New()
	t.Cleanup(memory.tasks.Close)
	return &trials{T: t, Memory: memory, addon: &addonsv1alpha1.SaaSAddon{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "cache", UID: "1"}}}
}

func clusters(names ...string) (all []rollout.Cluster) {
	for _, name := range names {
		all = append(all, rollout.Cluster{ClusterKey: rollout.ClusterKey{Namespace: "acme", Name: name}, Connected: true})
	}
	return all
}

// conclude asks for verdicts, and carries trials out with one outcome, until there is nothing left to try.
func (r *trials) conclude(revision string, clusters []rollout.Cluster, outcome error) Verdict {
	r.Helper()
	now := time.Now()
	for range 10 {
		verdict := r.Of(r.addon, revision, clusters, nil, now)
		if !verdict.Pending {
			return verdict
		}
		if len(verdict.Start) > 0 {
			r.tried = append(r.tried, verdict.Start)
			r.Start(verdict, time.Now(), func(context.Context) (Try, error) {
				return func(context.Context, rollout.ClusterKey) error { return outcome }, nil
			})
			r.awaitEnd(verdict)
		}
		if verdict.Again.After(now) {
			now = verdict.Again
		}
	}
	r.Fatal("no verdict")
	return Verdict{}
}

func (r *trials) awaitEnd(verdict Verdict) {
	for r.tasks.Progress(verdict.id).Running {
		select {
		case <-r.Context().Done():
			r.Fatal("the trial does not end")
		case <-time.After(time.Millisecond):
		}
	}
}

func TestAVerdictIsRememberedUntilThereIsAnotherCluster(t *testing.T) {
	r := newTrials(t)
	bad := &Refusal{Message: "no label"}
	for range 3 {
		if verdict := r.conclude("one", clusters("a", "b"), bad); verdict.Refused == nil || verdict.Refused.Tried != 2 {
			t.Fatalf("got %+v", verdict)
		}
	}
	if len(r.tried) != 1 {
		t.Fatalf("tried %v", r.tried)
	}
	if verdict := r.conclude("one", clusters("a", "b", "c"), bad); verdict.Refused == nil || len(r.tried) != 2 || len(r.tried[1]) != 1 {
		t.Fatalf("got %+v after trying %v", verdict, r.tried)
	}
	labelled := clusters("a", "b", "c")
	labelled[1].Parameters = "tier=gold"
	if verdict := r.conclude("one", labelled, nil); verdict.Refused != nil || len(r.tried) != 3 || r.tried[2][0].Name != "b" {
		t.Fatalf("got %+v after trying %v", verdict, r.tried)
	}
	if verdict := r.conclude("one", clusters("a", "b", "c", "d"), bad); verdict.Refused != nil || len(r.tried) != 3 {
		t.Errorf("what has passed is tried again: %+v after %v", verdict, r.tried)
	}
	if verdict := r.conclude("two", clusters("a"), bad); verdict.Refused == nil || len(r.tried) != 4 {
		t.Errorf("another revision: %+v after %v", verdict, r.tried)
	}
}

func TestWhatATargetHasOrNoClusterCouldGetIsNotTried(t *testing.T) {
	r := newTrials(t)
	if verdict := r.Of(r.addon, "one", clusters("a"), []rollout.Target{{Revision: "one"}}, time.Now()); verdict.Pending || verdict.Refused != nil {
		t.Errorf("a target has it: %+v", verdict)
	}
	offline := clusters("a", "b")
	offline[0].Connected, offline[1].Deleting = false, true
	if verdict := r.Of(r.addon, "two", offline, nil, time.Now()); verdict.Pending || verdict.Refused != nil {
		t.Errorf("no cluster could get it: %+v", verdict)
	}
	if verdict := r.Of(r.addon, "two", clusters("a"), nil, time.Now()); !verdict.Pending || len(verdict.Start) != 1 {
		t.Errorf("one could: %+v", verdict)
	}
}

func TestWhatCannotBeTriedPassesInTheEnd(t *testing.T) {
	r := newTrials(t)
	if verdict := r.conclude("one", clusters("a"), errLost); verdict.Refused != nil || len(r.tried) != maxUndecided {
		t.Errorf("got %+v after %v", verdict, r.tried)
	}
}

func TestAPolicyThatIsForgottenIsTriedAnew(t *testing.T) {
	r := newTrials(t)
	r.conclude("one", clusters("a"), nil)
	r.Forget(client.ObjectKeyFromObject(r.addon))
	r.conclude("one", clusters("a"), nil)
	if len(r.tried) != 2 {
		t.Errorf("tried %v", r.tried)
	}
}
