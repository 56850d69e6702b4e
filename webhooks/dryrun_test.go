package webhooks

import (
	"context"
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/topology"
)

// clusterAPI has one Cluster, and answers to any other and to any change of this one.
type clusterAPI struct {
	client.Client
	live               *clusterv1.Cluster
	toAnother, toPatch error
}

func (c *clusterAPI) Get(_ context.Context, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	if namespace, ok := into.(*metav1.PartialObjectMetadata); ok {
		namespace.UID = "customer"
		namespace.Labels = map[string]string{metav1alpha1.LabelManagedBy: "test", metav1alpha1.LabelClustersOf: "customer"}
		return nil
	}
	c.live.DeepCopyInto(into.(*clusterv1.Cluster)) //nolint:forcetypeassert // Nothing else is asked for.
	return nil
}

func (c *clusterAPI) Create(context.Context, client.Object, ...client.CreateOption) error {
	return c.toAnother
}

func (c *clusterAPI) Patch(context.Context, client.Object, client.Patch, ...client.PatchOption) error {
	return c.toPatch
}

func ordered(version string) *tenancyv1alpha1.TenantCluster {
	order := imported("acme", "prod")
	order.Spec.KubeconfigRef = nil
	order.Spec.Topology = &tenancyv1alpha1.ClusterTopology{ClassRef: tenancyv1alpha1.ClusterClassReference{Name: "small"}, Version: version}
	return order
}

// dryRunning returns what answers where the Cluster of an order is as Cluster API took it.
func dryRunning(order *tenancyv1alpha1.TenantCluster) (*tenantClusters, *clusterAPI) {
	api := &clusterAPI{}
	validator := &tenantClusters{client: api, orders: topology.Options{Installation: "test"}.Complete()}
	api.live = validator.desired(order)
	order.Status.TopologyHash = topology.Fingerprint(api.live)
	return validator, api
}

func wrongTopology(name, message string) error {
	path := field.NewPath("spec", "topology", name)
	return apierrors.NewInvalid(schema.GroupKind{Kind: "Cluster"}, "prod", field.ErrorList{field.Invalid(path, "x", message)})
}

func TestAnUpgradeIsRefusedForItsVersionOnly(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Group: "cluster.x-k8s.io", Resource: "clusters"}, "", errors.New("no such name"))
	for what, test := range map[string]struct {
		toAnother, toPatch error
		refusal, warning   string
	}{
		"everybody agrees":                          {nil, nil, "", ""},
		"its class does not have it":                {wrongTopology("version", "not of this class"), nil, "not of this class", ""},
		"somebody forbids another Cluster":          {forbidden, nil, "", "no such name"},
		"and there is something else wrong with it": {forbidden, wrongTopology("variables", "unknown"), "unknown", ""},
		"and nobody knows about the rest":           {forbidden, context.DeadlineExceeded, "", "no such name"},
	} {
		t.Run(what, func(t *testing.T) {
			before, after := ordered("v1.35.4"), ordered("v1.36.3")
			validator, api := dryRunning(before)
			api.toAnother, api.toPatch = test.toAnother, test.toPatch
			warnings, err := validator.checkOrder(t.Context(), before, after)
			if test.refusal != "" {
				expectRefusal(t, err, test.refusal)
			} else if err != nil {
				t.Errorf("it is refused: %v", err)
			}
			if said := strings.Join(warnings, "\n"); !strings.Contains(said, test.warning) || (said != "") != (test.warning != "") {
				t.Errorf("the warnings are %q, want %q", said, test.warning)
			}
		})
	}
}

// Cluster API may have changed its mind: its class may be another one than when it took the order.
func TestAnOrderIsTriedThoughItsClusterIsLikeIt(t *testing.T) {
	order := ordered("v1.36.3")
	validator, api := dryRunning(order)
	api.toPatch = wrongTopology("variables", "no longer defined")
	_, err := validator.checkOrder(t.Context(), &tenancyv1alpha1.TenantCluster{}, order)
	expectRefusal(t, err, "no longer defined")
}
