package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	"github.com/daytwo-dev/daytwo/e2e/faults"
	"github.com/daytwo-dev/daytwo/tools/local/localfleet"
)

const (
	neighbourDriftRow    = "slow_neighbour_drift_p99"
	neighbourConvergeRow = "slow_neighbour_converge"
)

const (
	// neighbourTurns is how often edits and roll-outs are measured without the neighbour, and with it.
	neighbourTurns = 4
	// neighbourAddon holds the objects that are edited beside the slow neighbour, and neighbourNamespace is that of the latter.
	neighbourAddon, neighbourNamespace = "neighbour", "slow-neighbour"
	// slowClusters of the neighbour have slowAddons each, of slowObjects each, and the first of them has endlessAddons too.
	slowClusters, slowAddons, slowObjects, endlessAddons = 8, 4, 200, 64
	// slowWrite is how long each write takes in these: a little less than a request may take.
	slowWrite = 14 * time.Second
	// endless is a template that never ends.
	endless = "{{ range 1000000000 }}{{ range 1000000000 }}{{ end }}{{ end }}"
)

// slowNeighbour measures what is taken back and rolled out in the clusters of the fleet while another customer has slow
// clusters and renderings that never end, beside the same while that customer's clusters are as quick as any. The two take turns,
// so that what else happens on the machine meets both.
func (b *bench) slowNeighbour(ctx context.Context) ([]result, error) {
	if dividesBySession(os.DirFS("/")) {
		b.progressf("the kernel divides the processors among login sessions first, so that the priority of renderings counts little; " +
			"run this within a control group, as docs/benchmarks.md says")
	}
	if err := b.populate(ctx, b.clusters); err != nil {
		return nil, err
	}
	e, err := b.openEdits(ctx, neighbourAddon, 2*neighbourTurns*b.edits)
	if err != nil {
		return nil, err
	}
	defer e.close()
	n := &neighbour{b: b}
	defer n.end()
	if err := n.begin(ctx); err != nil {
		return nil, err
	}
	var alone, crowded latency
	for turn := range neighbourTurns {
		if err := b.beside(ctx, &alone, fmt.Sprint("alone-", turn), e); err != nil {
			return nil, err
		}
		if err := n.crowd(ctx, turn); err != nil {
			return nil, err
		}
		if err := b.beside(ctx, &crowded, fmt.Sprint("crowded-", turn), e); err != nil {
			return nil, err
		}
		if err := n.leave(ctx, turn); err != nil {
			return nil, err
		}
	}
	return []result{
		newResult(neighbourDriftRow, "ms", milliseconds(percentile(crowded.edits, 99)), milliseconds(percentile(alone.edits, 99))),
		newResult(neighbourConvergeRow, "s", median(crowded.rollOuts).Seconds(), median(alone.rollOuts).Seconds()),
	}, nil
}

// latency of edits and roll-outs.
type latency struct{ edits, rollOuts []time.Duration }

// beside makes edits and roll-outs, and waits for no rest in between: the neighbour has none.
func (b *bench) beside(ctx context.Context, seen *latency, turn string, e *edits) error {
	for range b.edits {
		took, err := e.next(ctx)
		if err != nil {
			return err
		}
		seen.edits = append(seen.edits, took)
	}
	for round := range (b.rounds + 1) / 2 {
		took, err := b.rollOut(ctx, newAddon(fmt.Sprintf("%s-%s-%d", neighbourAddon, turn, round), tenObjects, b.clusters), isReady)
		if err != nil {
			return err
		}
		seen.rollOuts = append(seen.rollOuts, took)
		if err := pause(ctx, time.Second); err != nil {
			return err
		}
	}
	b.progressf("%s: so far an edit stood %.2f ms (p99 %.2f ms), and an add-on took %.2f s", turn, milliseconds(median(seen.edits)),
		milliseconds(percentile(seen.edits, 99)), median(seen.rollOuts).Seconds())
	return nil
}

// neighbour is another customer, whose clusters lead to one that is not in the fleet: what is measured shares the manager with
// them, and no API server.
type neighbour struct {
	b       *bench
	proxies []*faults.Proxy
	// slow are the rules that hold up the clusters now.
	slow []*faults.Injected
}

// begin imports the clusters of the neighbour, which has nothing in them yet.
func (n *neighbour) begin(ctx context.Context) error {
	to, err := n.b.env.Fleet.AddCluster(ctx, neighbourNamespace, localfleet.ClusterOptions{Bare: true})
	if err != nil {
		return err
	}
	for i := range slowClusters {
		proxy, err := faults.New(to.Config())
		if err != nil {
			return err
		}
		n.proxies = append(n.proxies, proxy)
		proxy.Inject(faults.Identify(uuid.NewUUID()))
		labels := map[string]string{"endless": fmt.Sprint(i == 0)}
		if err := n.b.env.Import(ctx, namespaced(neighbourNamespace, fmt.Sprint("slow-", i)), proxy.Kubeconfig(), labels); err != nil {
			return err
		}
	}
	return n.b.quiet(ctx)
}

// crowd makes the clusters slow, and has much to write to them and to render for them. It returns when the first write of some
// cluster is under way, so that all of what the customer may hold is about to be held.
func (n *neighbour) crowd(ctx context.Context, turn int) error {
	for _, proxy := range n.proxies {
		n.slow = append(n.slow, proxy.Inject(faults.Rule{Match: faults.Match{Verbs: faults.Writes()}, Action: faults.Delay(slowWrite)}))
	}
	for _, addon := range append(slowAddonsOf(turn), endlessAddonsOf(turn)...) {
		if err := n.b.env.Admin.Create(ctx, addon); err != nil {
			return fmt.Errorf("create an add-on of the slow neighbour: %w", err)
		}
	}
	first := n.slow[0]
	return n.b.until(ctx, 100*time.Millisecond, func(metrics) bool { return first.Count() > 0 })
}

// leave makes the clusters quick again, and returns when nothing is left of what they had to do.
func (n *neighbour) leave(ctx context.Context, turn int) error {
	for _, rule := range n.slow {
		rule.Remove()
	}
	n.slow = nil
	for _, addon := range append(slowAddonsOf(turn), endlessAddonsOf(turn)...) {
		if err := n.b.env.Admin.Delete(ctx, addon); err != nil {
			return fmt.Errorf("delete an add-on of the slow neighbour: %w", err)
		}
	}
	if err := poll(ctx, "the add-ons of the slow neighbour are gone", func(ctx context.Context) (bool, error) {
		left := &addonsv1alpha1.SaaSAddonList{}
		err := n.b.env.Admin.List(ctx, left, client.InNamespace(neighbourNamespace))
		return err == nil && len(left.Items) == 0, err
	}); err != nil {
		return err
	}
	return n.b.quiet(ctx)
}

// slowAddonsOf a turn have many objects. These have other names in each cluster, since all of those lead to one.
func slowAddonsOf(turn int) (addons []*addonsv1alpha1.SaaSAddon) {
	for i := range slowAddons {
		name := fmt.Sprintf("slow-%d-%d", turn, i)
		var manifests strings.Builder
		for object := range slowObjects {
			fmt.Fprintf(&manifests, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '%s-{{ .Cluster.Name }}-%d'}\n---\n", name, object)
		}
		addon := newAddon(name, manifests.String(), slowClusters)
		addon.Namespace, addon.Spec.Namespace, addon.Spec.CreateNamespace = neighbourNamespace, metav1.NamespaceDefault, false
		addons = append(addons, addon)
	}
	return addons
}

// endlessAddonsOf a turn cannot be rendered.
func endlessAddonsOf(turn int) (addons []*addonsv1alpha1.SaaSAddon) {
	for i := range endlessAddons {
		addon := newAddon(fmt.Sprintf("endless-%d-%d", turn, i), endless, 1)
		addon.Namespace, addon.Spec.ClusterSelector = neighbourNamespace, &metav1.LabelSelector{MatchLabels: map[string]string{"endless": "true"}}
		addons = append(addons, addon)
	}
	return addons
}

// end closes the connections of the neighbour. What they have stays until the fleet ends.
func (n *neighbour) end() {
	for _, proxy := range n.proxies {
		proxy.Close()
	}
}
