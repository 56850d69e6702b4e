package order

import (
	"testing"

	"github.com/daytwo-dev/daytwo/tools/local/manifests"
)

// The file is applied as it is, with its namespace.
func TestTheSampleOfAnOrderBecomesReady(t *testing.T) {
	t.Parallel()
	c := &customer{T: t, namespace: "customer-umbrella"}
	objects, err := manifests.Load("../../config/samples/ordered.yaml")
	must(t, err)
	t.Cleanup(c.leave)
	must(t, manifests.Apply(t.Context(), env.Fleet.Management().Config(), objects))
	c.awaitReady("staging")
}
