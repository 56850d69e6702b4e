package clusternamespace

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/topology"
)

const installation = "installation"

func customer(uid types.UID) *metav1.PartialObjectMetadata {
	namespace := metadata()
	namespace.Name, namespace.UID = "acme", uid
	return namespace
}

// made is the namespace for the Clusters of the customer's namespace with that UID.
func made(uid string) *metav1.PartialObjectMetadata {
	namespace := metadata()
	namespace.Name = "acme-clusters"
	namespace.Labels = map[string]string{metav1alpha1.LabelManagedBy: installation, metav1alpha1.LabelClustersOf: uid}
	return namespace
}

func going(namespace *metav1.PartialObjectMetadata) *metav1.PartialObjectMetadata {
	at := metav1.Now()
	namespace.DeletionTimestamp = &at
	return namespace
}

func labelled(key, value string) *metav1.PartialObjectMetadata {
	namespace := made("1")
	namespace.Labels[key] = value
	return namespace
}

func TestOnlyANamespaceWithTheOwnersUIDIsUsed(t *testing.T) {
	for name, test := range map[string]struct {
		owner, found *metav1.PartialObjectMetadata
		want         State
	}{
		"there is none yet":                {customer("1"), nil, Absent},
		"it is the customer's":             {customer("1"), made("1"), Ready},
		"it is going":                      {customer("1"), going(made("1")), Terminating},
		"it was made for another one":      {customer("2"), made("1"), Foreign},
		"it is another's, and going":       {customer("2"), going(made("1")), Foreign},
		"another installation made it":     {customer("1"), labelled(metav1alpha1.LabelManagedBy, "other"), Foreign},
		"somebody made it":                 {customer("1"), customer(""), Foreign},
		"the owner is not known":           {nil, made("1"), Absent},
		"neither is marked with any owner": {customer(""), labelled(metav1alpha1.LabelClustersOf, ""), Foreign},
	} {
		if got := stateOf(test.owner, test.found, installation); got != test.want {
			t.Errorf("%s: state %d, want %d", name, got, test.want)
		}
	}
}

func TestPlanOfNamespaces(t *testing.T) {
	options := topology.Options{Installation: installation}.Complete()
	for name, test := range map[string]struct {
		observation
		create, label, remove bool
	}{
		"an order":                               {observation{owner: customer("1"), ordering: true, remaining: true}, true, false, false},
		"an order whose namespace is there":      {observation{owner: customer("1"), found: made("1"), ordering: true, remaining: true}, false, false, false},
		"an order whose name is taken":           {observation{owner: customer("1"), found: customer(""), ordering: true, remaining: true}, false, false, false},
		"an order in a namespace that goes":      {observation{owner: going(customer("1")), ordering: true, remaining: true}, false, false, false},
		"a name that is too long":                {observation{name: strings.Repeat("a", 55), owner: customer("1"), ordering: true, remaining: true}, false, false, false},
		"the last order is on its way out":       {observation{owner: customer("1"), found: made("1"), remaining: true}, false, false, false},
		"no order any more":                      {observation{owner: customer("1"), found: made("1")}, false, false, true},
		"no order, and it goes already":          {observation{owner: customer("1"), found: going(made("1"))}, false, false, false},
		"no order, and it is somebody else's":    {observation{owner: customer("1"), found: customer("")}, false, false, false},
		"the customer is gone":                   {observation{found: made("1")}, false, false, true},
		"another customer has the name now":      {observation{owner: customer("2"), found: made("1"), ordering: true, remaining: true}, false, false, true},
		"there are Clusters":                     {observation{owner: customer("1"), clusters: true}, false, true, false},
		"there are Clusters, and it is labelled": {observation{owner: labelled(metav1alpha1.LabelHoldsClusters, "true"), clusters: true}, false, false, false},
	} {
		o := test.observation
		o.options = options
		if o.name == "" {
			o.name = "acme"
		}
		p := newPlan(o)
		if (p.create != nil) != test.create || p.label != test.label || p.remove != test.remove {
			t.Errorf("%s: planned %+v", name, p)
		}
	}
}

func TestANamespaceIsMadeWithItsOwnersUID(t *testing.T) {
	o := observation{name: "acme", owner: customer("1"), ordering: true, options: topology.Options{Installation: installation}.Complete()}
	p := newPlan(o)
	found := metadata()
	found.ObjectMeta = p.create.ObjectMeta
	if found.Name != "acme-clusters" || stateOf(o.owner, found, installation) != Ready || found.Labels[metav1alpha1.LabelHoldsClusters] == "" {
		t.Errorf("it is %+v", found.ObjectMeta)
	}
}
