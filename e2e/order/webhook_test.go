package order

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/daytwo-dev/daytwo/apis"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
	"github.com/daytwo-dev/daytwo/tools/local/localfleet"
)

// wrongs are mistakes in an order that only its class knows, and what Cluster API says of them.
var wrongs = map[string]struct {
	mistake func(*tenancyv1alpha1.ClusterTopology)
	says    []string
}{
	"an unknown variable": {
		func(order *tenancyv1alpha1.ClusterTopology) { setVariable(order, "noSuchVariable", "1") },
		[]string{"spec.topology", "noSuchVariable", "variable is not defined", "correct spec.topology"},
	},
	"a variable of the wrong type": {
		func(order *tenancyv1alpha1.ClusterTopology) { setVariable(order, "maxRequestsInFlight", `"many"`) },
		[]string{"maxRequestsInFlight", "must be of type integer"},
	},
	"a variable that is out of range": {
		func(order *tenancyv1alpha1.ClusterTopology) { setVariable(order, "maxRequestsInFlight", "9") },
		[]string{"maxRequestsInFlight", "greater than or equal to 10"},
	},
	"an unknown class of workers": {
		func(order *tenancyv1alpha1.ClusterTopology) {
			order.Workers = []tenancyv1alpha1.TopologyWorkers{{Class: "noSuchWorkers", Name: "main"}}
		},
		[]string{"noSuchWorkers", "machineDeployments[0].class"},
	},
	"a version that the class does not have": {
		func(order *tenancyv1alpha1.ClusterTopology) { order.Version = newVersion() + "99" },
		[]string{"spec.topology.version", "must match one of the versions defined in the ClusterClass"},
	},
}

func setVariable(order *tenancyv1alpha1.ClusterTopology, name, value string) {
	variable := tenancyv1alpha1.TopologyVariable{Name: name}
	variable.Value.Raw = []byte(value)
	order.Variables = []tenancyv1alpha1.TopologyVariable{variable}
}

// newClass makes a class like small, of two versions. It goes after the customer, whose clusters have it.
func newClass(t *testing.T) (name string) {
	t.Helper()
	class := &clusterv1.ClusterClass{}
	must(t, env.Admin.Get(t.Context(), client.ObjectKey{Namespace: localfleet.ClassNamespace, Name: "small"}, class))
	class.ObjectMeta = metav1.ObjectMeta{Namespace: localfleet.ClassNamespace, GenerateName: "two-versions-"}
	class.Spec.KubernetesVersions = []string{oldVersion(), newVersion()}
	must(t, env.Admin.Create(t.Context(), class))
	t.Cleanup(func() { must(t, env.Admin.Delete(context.Background(), class)) })
	return class.Name
}

// awaitClass waits until Cluster API checks the orders of a class. Before it has reconciled a new class, it passes
// them unchecked and with a warning.
func (c *customer) awaitClass(class string) {
	c.Helper()
	expect.Eventually(c.T, "orders of the class are checked", func(ctx context.Context) error {
		order := c.order("prod")
		order.Spec.Topology.ClassRef.Name = class
		warnings, err := tryOrder(ctx, order)
		if err == nil && warnings != "" {
			err = fmt.Errorf("a warning: %s", warnings)
		}
		return err
	})
}

// expectInvalid waits until a dry run is refused. An order passes unchecked while the webhook has no answer in time, which
// a machine under load may cause.
func (c *customer) expectInvalid(what string, says []string, try func(context.Context) error) {
	c.Helper()
	var refusal error
	expect.Eventually(c, what+" is refused", func(ctx context.Context) error {
		if refusal = try(ctx); !apierrors.IsInvalid(refusal) {
			return fmt.Errorf("the answer is: %v", refusal)
		}
		return nil
	})
	for _, text := range says {
		if !strings.Contains(refusal.Error(), text) {
			c.Errorf("%s: the refusal does not say %q: %v", what, text, refusal)
		}
	}
}

func TestAnOrderThatItsClassDoesNotPermitIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	class := newClass(t)
	c := newCustomer(t)
	c.awaitClass(class)
	for what, wrong := range wrongs {
		order := c.order("prod")
		order.Spec.Topology.ClassRef.Name = class
		wrong.mistake(order.Spec.Topology)
		c.expectInvalid(what, wrong.says, func(ctx context.Context) error { return env.Admin.Create(ctx, order.DeepCopy(), client.DryRunAll) })
	}

	order := c.order("prod")
	order.Spec.Topology.ClassRef.Name = class
	c.create(order)
	expect.Eventually(t, "the Cluster is there", func(ctx context.Context) error {
		return env.Admin.Get(ctx, client.ObjectKey{Namespace: c.clusters(), Name: "prod"}, &clusterv1.Cluster{})
	})
	before := c.get("prod")
	for what, wrong := range wrongs {
		changed := before.DeepCopy()
		wrong.mistake(changed.Spec.Topology)
		c.expectInvalid("a change to "+what, wrong.says, func(ctx context.Context) error {
			return env.Admin.Patch(ctx, changed.DeepCopy(), client.MergeFrom(before), client.DryRunAll)
		})
	}
	c.refusesAnotherStart()

	// Cluster API takes no other version before the cluster runs. The order may say so all the same, and waits.
	c.change("prod", func(cluster *tenancyv1alpha1.TenantCluster) { cluster.Spec.Topology.Version = newVersion() })
	if live := c.cluster(t.Context(), "prod"); live.Spec.Topology.Version != oldVersion() {
		t.Errorf("the Cluster was asked for %s before it ran", live.Spec.Topology.Version)
	}
	expect.Eventually(t, "the upgrade is over", func(context.Context) error {
		cluster := c.get("prod")
		if cluster.Status.OrderedVersion != newVersion() {
			return fmt.Errorf("it was not begun: %s", expect.Describe(cluster.Status.Conditions))
		}
		return expect.Condition(cluster.Status.Conditions, tenancyv1alpha1.ConditionUpgraded, metav1.ConditionTrue, "")
	})
}

// refusesAnotherStart tries to make the TenantCluster of a Cluster that there is already anew: who restores one
// from a backup, say.
func (c *customer) refusesAnotherStart() {
	c.Helper()
	anew := c.order("prod")
	anew.Spec.Topology.ClassRef.Name = c.get("prod").Spec.Topology.ClassRef.Name
	if err := env.Admin.Create(c.Context(), anew.DeepCopy(), client.DryRunAll); !apierrors.IsAlreadyExists(err) {
		c.Errorf("the same order for the Cluster that is there: %v", err)
	}
	anew.Spec.Topology.Version = "v1.30.0"
	c.expectInvalid("an older version", []string{"is older than " + oldVersion()}, func(ctx context.Context) error {
		return env.Admin.Create(ctx, anew.DeepCopy(), client.DryRunAll)
	})
}

// heard collects the warnings of an API server.
type heard struct {
	mu    sync.Mutex
	texts []string
}

func (h *heard) HandleWarningHeader(_ int, _, text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.texts = append(h.texts, text)
}

func (h *heard) all() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.Join(h.texts, "\n")
}

// expectWarning tries to create an order until it passes with a warning: an order that could not be checked in time passes
// with another one.
func expectWarning(t *testing.T, order *tenancyv1alpha1.TenantCluster, says string) {
	t.Helper()
	expect.Eventually(t, fmt.Sprintf("the order passes, with a warning that says %q", says), func(ctx context.Context) error {
		warnings, err := tryOrder(ctx, order.DeepCopy())
		if err == nil && !strings.Contains(warnings, says) {
			err = fmt.Errorf("the warnings are %q", warnings)
		}
		return err
	})
}

// tryOrder creates an order in a dry run, and returns the warnings.
func tryOrder(ctx context.Context, order *tenancyv1alpha1.TenantCluster) (warnings string, err error) {
	heard := &heard{}
	config := env.Fleet.Management().Config()
	config.WarningHandler = heard
	hearing, err := client.New(config, client.Options{Scheme: apis.NewScheme()})
	if err != nil {
		return "", err
	}
	err = hearing.Create(ctx, order, client.DryRunAll)
	return heard.all(), err
}

// A GitOps tool writes what belongs together in any order.
func TestAnOrderOfAClassThatDoesNotExistYetPasses(t *testing.T) {
	t.Parallel()
	c := newCustomer(t)
	order := c.order("prod")
	order.Spec.Topology.ClassRef.Name = "comes-later"
	expectWarning(t, order, "ClusterClass does not exist")
}

func TestAnOrderWhoseNameIsTakenPassesWithAWarning(t *testing.T) {
	t.Parallel()
	c := newCustomer(t)
	theirs := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: c.clusters(), Name: "prod"}}
	theirs.Spec.Topology.ClassRef = clusterv1.ClusterClassRef{Namespace: localfleet.ClassNamespace, Name: "small"}
	theirs.Spec.Topology.Version = oldVersion()
	theirs.Spec.Paused = new(bool)
	*theirs.Spec.Paused = true
	c.awaitNamespace()
	c.create(theirs)
	expectWarning(t, c.order("prod"), "which Daytwo did not make")
	must(t, env.Admin.Patch(t.Context(), theirs, mergePatch(`{"spec":{"paused":false}}`)))
}

// Without anybody who answers, everything passes; the controller says the same when it is back.
func TestWhatIsOrderedWhileNobodyChecksItIsToldByTheController(t *testing.T) {
	c := newCustomer(t)
	must(t, env.Manager.Stop(t.Context()))
	order := c.order("prod")
	setVariable(order.Spec.Topology, "noSuchVariable", "1")
	c.create(order)
	must(t, env.Manager.Start(t.Context()))
	refused := c.await("prod", metav1alpha1.ConditionStalled, metav1.ConditionTrue, tenancyv1alpha1.ReasonOrderRefused)
	if says := expect.Describe(refused.Status.Conditions); !strings.Contains(says, "noSuchVariable") {
		t.Errorf("it does not name the variable: %s", says)
	}
	c.change("prod", func(cluster *tenancyv1alpha1.TenantCluster) { cluster.Spec.Topology.Variables = nil })
	c.awaitReady("prod")
}
