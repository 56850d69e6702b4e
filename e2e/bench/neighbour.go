package main

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	"github.com/daytwo-dev/daytwo/e2e/faults"
)

const (
	neighbourDriftRow    = "slow_neighbour_drift_p99"
	neighbourConvergeRow = "slow_neighbour_converge"
)

const (
	// neighbourAddon holds the objects that are edited beside the slow neighbour, and neighbourNamespace is that of the latter.
	neighbourAddon, neighbourNamespace = "neighbour", "slow-neighbour"
	// slowClusters of the neighbour have slowAddons each, and the first of them has endlessAddons too.
	slowClusters, slowAddons, endlessAddons = 8, 4, 64
	// slowWrite is how long each write takes in these: a little less than a request may take.
	slowWrite = 14 * time.Second
	// endless is a template that never ends.
	endless = "{{ range 1000000000 }}{{ range 1000000000 }}{{ end }}{{ end }}"
)

// slowNeighbour measures what is taken back and rolled out in the clusters of the fleet while another customer has slow
// clusters and renderings that never end, beside the same without that customer.
func (b *bench) slowNeighbour(ctx context.Context) ([]result, error) {
	if err := b.populate(ctx, b.clusters); err != nil {
		return nil, err
	}
	e, err := b.openEdits(ctx, neighbourAddon, b.edits)
	if err != nil {
		return nil, err
	}
	defer e.close()
	alone, err := b.beside(ctx, "alone", e)
	if err != nil {
		return nil, err
	}
	n := &neighbour{b: b}
	defer n.end()
	if err := n.begin(ctx); err != nil {
		return nil, err
	}
	crowded, err := b.beside(ctx, "crowded", e)
	if err != nil {
		return nil, err
	}
	return []result{
		newResult(neighbourDriftRow, "ms", milliseconds(percentile(crowded.edits, 99)), milliseconds(percentile(alone.edits, 99))),
		newResult(neighbourConvergeRow, "s", median(crowded.rollOuts).Seconds(), median(alone.rollOuts).Seconds()),
	}, nil
}

// latency of edits and roll-outs.
type latency struct{ edits, rollOuts []time.Duration }

// beside makes edits and roll-outs, and waits for no rest in between: the neighbour has none.
func (b *bench) beside(ctx context.Context, what string, e *edits) (latency, error) {
	var seen latency
	for range b.edits / 2 {
		took, err := e.next(ctx)
		if err != nil {
			return latency{}, err
		}
		seen.edits = append(seen.edits, took)
	}
	for round := range (b.rounds + 1) / 2 {
		took, err := b.rollOut(ctx, newAddon(fmt.Sprintf("%s-%s-%d", neighbourAddon, what, round), tenObjects, b.clusters), isReady)
		if err != nil {
			return latency{}, err
		}
		seen.rollOuts = append(seen.rollOuts, took)
		if err := pause(ctx, time.Second); err != nil {
			return latency{}, err
		}
	}
	b.progressf("%s: an edit stood %.2f ms, an add-on took %.2f s", what, milliseconds(median(seen.edits)), median(seen.rollOuts).Seconds())
	return seen, nil
}

// neighbour is another customer, whose clusters lead to the last one of the fleet.
type neighbour struct {
	b       *bench
	proxies []*faults.Proxy
}

func (n *neighbour) begin(ctx context.Context) error {
	to := n.b.fleet[len(n.b.fleet)-1]
	var slow []*faults.Injected
	for i := range slowClusters {
		proxy, err := faults.New(to.Config())
		if err != nil {
			return err
		}
		n.proxies = append(n.proxies, proxy)
		proxy.Inject(faults.Identify(uuid.NewUUID()))
		slow = append(slow, proxy.Inject(faults.Rule{Match: faults.Match{Verbs: faults.Writes()}, Action: faults.Delay(slowWrite)}))
		labels := map[string]string{"endless": fmt.Sprint(i == 0)}
		if err := n.b.env.Import(ctx, namespaced(neighbourNamespace, fmt.Sprint("slow-", i)), proxy.Kubeconfig(), labels); err != nil {
			return err
		}
	}
	for i := range slowAddons + endlessAddons {
		if err := n.b.env.Admin.Create(ctx, neighboursAddon(i)); err != nil {
			return fmt.Errorf("create an add-on of the slow neighbour: %w", err)
		}
	}
	// The first write of some cluster is under way, so that all of what the customer may hold is about to be held.
	return n.b.until(ctx, 100*time.Millisecond, func(metrics) bool { return slow[0].Count() > 0 })
}

// neighboursAddon is one of many objects, or one that cannot be rendered.
func neighboursAddon(i int) *addonsv1alpha1.SaaSAddon {
	if i < slowAddons {
		addon := newAddon(fmt.Sprint("slow-", i), objectsToEdit(200), slowClusters)
		addon.Namespace = neighbourNamespace
		return addon
	}
	addon := newAddon(fmt.Sprint("endless-", i-slowAddons), endless, 1)
	addon.Namespace, addon.Spec.ClusterSelector = neighbourNamespace, &metav1.LabelSelector{MatchLabels: map[string]string{"endless": "true"}}
	return addon
}

// end closes the connections of the neighbour. What they have stays until the fleet ends.
func (n *neighbour) end() {
	for _, proxy := range n.proxies {
		proxy.Close()
	}
}
