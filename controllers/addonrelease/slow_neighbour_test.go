package addonrelease

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/kubeconfig"
	"github.com/daytwo-dev/daytwo/e2e/faults"
)

// slowWrite is how long the API servers of the slow customer take for each write: a little less than a request may take.
const slowWrite = 14 * time.Second

// TestSlowClustersOfACustomerHoldUpNobodyElse has one policy work in the clusters of two customers: the releases in the
// slow ones are as many as there are workers.
func TestSlowClustersOfACustomerHoldUpNobodyElse(t *testing.T) {
	customer := newSlowCustomer(t, "slow-1", "slow-2")
	var slow []*addon
	for i := range 32 {
		slow = append(slow, customer.addon(fmt.Sprintf("slow-%02d", i), i%2))
	}
	eventually(t, "the slow clusters have all the workers that they may have", func() (bool, string) {
		now, _ := customer.count()
		return now == 8, fmt.Sprintf("%d releases are worked on there", now)
	})

	newAddon(t, fmt.Sprintf(oneConfigMap, "quick")).waitReady()

	for _, one := range slow {
		if meta.IsStatusConditionTrue(one.get().Status.Conditions, metav1alpha1.ConditionReady) {
			t.Errorf("%s is Ready: its cluster was not slow", one.name)
		}
	}
	eventually(t, "a slow release says what is left for its next slice", func() (bool, string) {
		for _, one := range slow {
			if applied := meta.FindStatusCondition(one.get().Status.Conditions, metav1alpha1.ConditionApplied); applied != nil && strings.Contains(applied.Message, "objects follow") {
				return true, ""
			}
		}
		return false, describeConditions(slow[0].get())
	})
	if _, most := customer.count(); most > 8 {
		t.Errorf("%d of 32 workers worked for one customer", most)
	}
	customer.recover()
	slow[0].waitReady()
}

// slowCustomer has clusters that lead to the second workload cluster.
type slowCustomer struct {
	*testing.T
	clusters []types.NamespacedName
	rules    []*faults.Injected

	mu sync.Mutex
	// underWay counts the writes under way, by the namespace of the release; most is how many of these there were at a time.
	underWay map[string]int
	most     int
}

func newSlowCustomer(t *testing.T, clusters ...string) *slowCustomer {
	t.Helper()
	c := &slowCustomer{T: t, underWay: map[string]int{}}
	c.must(shared.management.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "slow-customer"}}))
	for _, name := range clusters {
		proxy := faults.Start(t, shared.rivalConfig)
		c.rules = append(c.rules, proxy.Inject(faults.Rule{Match: faults.Match{Verbs: faults.Writes(), Namespaces: []string{"slow-*"}}, Action: c.delay}))
		key, identity := types.NamespacedName{Namespace: "slow-customer", Name: name}, uuid.NewUUID()
		proxy.Inject(faults.Identify(identity))
		c.must(shared.createTenantIn(t.Context(), key.Namespace, key.Name))
		access, err := kubeconfig.Parse(proxy.Kubeconfig(), kubeconfig.Options{})
		c.must(err)
		shared.connections.Connect(key, access)
		c.must(shared.connections.Admit(key, identity))
		c.clusters = append(c.clusters, key)
		t.Cleanup(func() {
			shared.connections.Forget(key)
			tenant := &tenancyv1alpha1.TenantCluster{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
			c.must(shared.management.Delete(context.Background(), tenant))
		})
	}
	return c
}

func (c *slowCustomer) must(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

// delay counts a write while it is under way.
func (c *slowCustomer) delay(e faults.Exchange) {
	release := namespaceIn(e.Request.URL)
	c.mu.Lock()
	c.underWay[release]++
	c.most = max(c.most, len(c.underWay))
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.underWay[release]--; c.underWay[release] == 0 {
			delete(c.underWay, release)
		}
	}()
	faults.Delay(slowWrite)(e)
}

// namespaceIn is the namespace in a path such as /api/v1/namespaces/acme/configmaps.
func namespaceIn(url *url.URL) string {
	_, rest, _ := strings.Cut(url.Path, "/namespaces/")
	name, _, _ := strings.Cut(rest, "/")
	return name
}

// count is how many releases have writes under way, and how many had at the most.
func (c *slowCustomer) count() (now, most int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.underWay), c.most
}

// recover has the clusters answer at once.
func (c *slowCustomer) recover() {
	for _, rule := range c.rules {
		rule.Remove()
	}
}

// addon starts a release in one of the clusters, in a namespace of its own. It leaves what it made.
func (c *slowCustomer) addon(name string, cluster int) *addon {
	c.Helper()
	a := &addon{t: c.T, home: customers, name: name, namespace: name, policy: &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}}
	c.must(shared.management.Create(c.Context(), a.policy))
	var text strings.Builder
	for i := range 40 {
		fmt.Fprintf(&text, oneConfigMap+"---\n", fmt.Sprintf("object-%02d", i))
	}
	a.start(a.revision(text.String()), func(spec *addonsv1alpha1.AddonReleaseSpec) {
		spec.ClusterRef = metav1alpha1.ClusterReference{Namespace: c.clusters[cluster].Namespace, Name: c.clusters[cluster].Name}
		spec.DeletionPolicy = metav1alpha1.DeletionPolicyOrphan
	})
	return a
}
