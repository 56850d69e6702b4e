package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/e2e/faults"
)

const (
	hostileServerRow = "hostile_server_memory"
	hostilePeakRow   = "hostile_server_peak"
)

const (
	// doomedAddon is deleted as the server becomes hostile, so that its removal asks what the cluster holds.
	doomedAddon = "doomed"
	// provokeEvery is how often the manager is asked to work with the hostile server, and its memory looked at.
	provokeEvery = 2 * time.Second
)

// hostileServer stands before the API server of one cluster, and hands everything on until it attacks.
type hostileServer struct {
	b      *bench
	proxy  *faults.Proxy
	tenant types.NamespacedName
	rules  []*faults.Injected
	// round counts how often the manager was asked to work with it.
	round int
}

// hostileServer measures what the manager holds, without garbage, while one of its clusters answers with whatever may fill
// its memory, and the most that it and its workers have resident meanwhile. The floor is the same while that cluster is
// honest.
func (b *bench) hostileServer(ctx context.Context) ([]result, error) {
	if err := b.prepareCharts(ctx); err != nil {
		return nil, err
	}
	h, err := b.newHostileServer(ctx)
	if err != nil {
		return nil, err
	}
	results, err := h.measure(ctx)
	return results, errors.Join(err, h.close(ctx))
}

// newHostileServer leads the last cluster of the fleet through a proxy, and installs there what makes the manager ask for
// all that a hostile server has an answer to.
func (b *bench) newHostileServer(ctx context.Context) (*hostileServer, error) {
	cluster := b.fleet[len(b.fleet)-1]
	proxy, err := faults.New(cluster.Config())
	if err != nil {
		return nil, err
	}
	h := &hostileServer{b: b, proxy: proxy, tenant: namespaced(fleetNamespace, cluster.Name())}
	if err := h.install(ctx); err != nil {
		return nil, errors.Join(err, h.close(ctx))
	}
	return h, nil
}

func (h *hostileServer) install(ctx context.Context) error {
	if err := h.b.env.Lead(ctx, h.tenant, h.proxy.Kubeconfig()); err != nil {
		return err
	}
	if err := h.b.publishScout(); err != nil {
		return err
	}
	doomed := newAddon(doomedAddon, tenObjects, 1)
	doomed.Spec.ClusterSelector, doomed.Spec.ClusterNames = nil, []string{h.tenant.Name}
	for _, addon := range []*addonsv1alpha1.SaaSAddon{h.b.newScout(h.tenant.Name), doomed} {
		if err := h.b.install(ctx, addon); err != nil {
			return err
		}
	}
	return nil
}

// measure asks the manager for the same as long as the server is honest, and then while it is not.
func (h *hostileServer) measure(ctx context.Context) ([]result, error) {
	if err := h.b.startAnew(ctx); err != nil {
		return nil, err
	}
	// The first time costs memory that stays.
	if err := h.awaitPeace(ctx); err != nil {
		return nil, err
	}
	before, err := h.watchMemory(ctx, func() ([]usage, error) { return h.workWith(ctx, nil, h.b.hostileTime/2) })
	if err != nil {
		return nil, err
	}
	during, err := h.watchMemory(ctx, func() ([]usage, error) { return h.attack(ctx) })
	if err != nil {
		return nil, err
	}
	if err := h.awaitPeace(ctx); err != nil {
		return nil, fmt.Errorf("after the server stopped being hostile: %w", err)
	}
	after, err := h.b.managerUsage(ctx)
	if err != nil {
		return nil, err
	}
	h.b.progressf("honest: %s; hostile: %s; afterwards: %s", before, during, after)
	return []result{
		newResult(hostileServerRow, "KiB", medianUsage(during.looks), medianUsage(before.looks)),
		newResult(hostilePeakRow, "MiB", during.most.total(), before.most.total()),
	}, nil
}

// watched is what the manager held at some looks, and the most that it and its workers had resident.
type watched struct {
	looks []usage
	most  resident
}

func (w watched) String() string {
	return fmt.Sprintf("%.0f KiB at most looks, at one %s; resident at most %s", medianUsage(w.looks), largest(w.looks), w.most)
}

func (h *hostileServer) watchMemory(ctx context.Context, during func() ([]usage, error)) (watched, error) {
	highest := h.b.followMemory(ctx)
	looks, err := during()
	most, lookErr := highest()
	return watched{looks, most}, errors.Join(err, lookErr)
}

func medianUsage(looks []usage) float64 {
	var totals []float64
	for _, look := range looks {
		totals = append(totals, look.total())
	}
	return median(totals)
}

// attack returns what the manager held at each look while the server was hostile, in each of the phases for as long.
func (h *hostileServer) attack(ctx context.Context) ([]usage, error) {
	if err := h.b.env.Admin.Delete(ctx, newAddon(doomedAddon, tenObjects, 1)); err != nil {
		return nil, fmt.Errorf("delete add-on %s: %w", doomedAddon, err)
	}
	phases := hostilePhases()
	var looks []usage
	for _, phase := range phases {
		during, err := h.workWith(ctx, phase, h.b.hostileTime/time.Duration(len(phases)))
		if err != nil {
			return nil, err
		}
		looks = append(looks, during...)
	}
	return looks, nil
}

// workWith returns what the manager held at each look, while it worked with a server that follows some rules.
func (h *hostileServer) workWith(ctx context.Context, rules []hostileRule, duration time.Duration) ([]usage, error) {
	for _, one := range rules {
		h.rules = append(h.rules, h.proxy.Inject(one.Rule))
	}
	h.proxy.Disconnect() // What is open is opened again.
	defer h.relent()
	var looks []usage
	for end := time.Now().Add(duration); time.Now().Before(end); {
		if err := h.provoke(ctx); err != nil {
			return nil, err
		}
		if err := pause(ctx, provokeEvery); err != nil {
			return nil, err
		}
		look, err := h.b.managerUsage(ctx)
		if err != nil {
			return nil, err
		}
		looks = append(looks, look)
	}
	return looks, h.showAnswers(rules, looks)
}

// showAnswers fails if there is something that the manager never asked for: it would not have been measured.
func (h *hostileServer) showAnswers(rules []hostileRule, looks []usage) error {
	var problems []error
	for i, rule := range h.rules {
		h.b.progressf("%s: %d hostile answers", rules[i].about, rule.Count())
		if rule.Count() == 0 {
			problems = append(problems, fmt.Errorf("the manager made no request for %s", rules[i].about))
		}
	}
	h.b.progressf("with %d such rules at most: %s", len(rules), largest(looks))
	return errors.Join(problems...)
}

func largest(looks []usage) usage {
	return slices.MaxFunc(looks, func(a, b usage) int { return cmp.Compare(a.total(), b.total()) })
}

// relent lets the server hand everything on again, and ends what has no end.
func (h *hostileServer) relent() {
	for _, rule := range h.rules {
		rule.Remove()
	}
	h.rules = nil
	h.proxy.Disconnect()
}

// provoke asks the manager for a try, and for another revision of the chart: it renders that, and writes its record.
func (h *hostileServer) provoke(ctx context.Context) error {
	h.round++
	cluster := &tenancyv1alpha1.TenantCluster{}
	cluster.Namespace, cluster.Name = h.tenant.Namespace, h.tenant.Name
	request := fmt.Sprintf(`{"metadata":{"annotations":{%q:"round-%d"}}}`, metav1alpha1.AnnotationRequestedAt, h.round)
	if err := h.b.env.Admin.Patch(ctx, cluster, client.RawPatch(types.MergePatchType, []byte(request))); err != nil {
		return fmt.Errorf("ask for a try: %w", err)
	}
	scout := h.b.newScout(h.tenant.Name)
	change := fmt.Sprintf(`{"spec":{"values":{"round":%d}}}`, h.round)
	if err := h.b.env.Admin.Patch(ctx, scout, client.RawPatch(types.MergePatchType, []byte(change))); err != nil {
		return fmt.Errorf("change the values of the chart: %w", err)
	}
	return nil
}

// awaitPeace asks the manager once more, and returns when the chart is as it is declared and nothing more happens.
func (h *hostileServer) awaitPeace(ctx context.Context) error {
	if err := h.provoke(ctx); err != nil {
		return err
	}
	if err := h.b.awaitReady(ctx, scoutAddon); err != nil {
		return err
	}
	return h.b.quiet(ctx)
}

// close leads the cluster past the proxy again.
func (h *hostileServer) close(ctx context.Context) error {
	h.relent()
	err := h.b.env.Lead(ctx, h.tenant, h.b.fleet[len(h.b.fleet)-1].Kubeconfig())
	h.proxy.Close()
	return err
}
