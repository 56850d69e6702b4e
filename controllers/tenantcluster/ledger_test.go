package tenantcluster

import (
	"testing"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/daytwo-dev/daytwo/apis"
	"github.com/daytwo-dev/daytwo/controllers/internal/orphans"
)

func TestALedgerIsForgottenWithTheLastTenantCluster(t *testing.T) {
	last := settled().cluster
	last.Finalizers = nil
	reads := fake.NewClientBuilder().WithScheme(apis.NewScheme()).WithObjects(last).
		WithIndex(secretMetadata(), indexHeld, func(client.Object) []string { return nil }).Build()
	r := &reconciler{client: reads, clock: clock.RealClock{}}
	r.ledgers.remember("acme", "1", &orphans.Content{})
	r.ledgers.remember("other", "1", &orphans.Content{})
	known := func(namespace string) bool {
		_, ok := r.ledgers.recall(namespace, "1")
		return ok
	}

	key := client.ObjectKey{Namespace: "acme", Name: "gone"}
	if _, err := r.observe(t.Context(), key); err != nil || !known("acme") {
		t.Errorf("the ledger of a namespace with TenantClusters is forgotten (%v)", err)
	}
	if err := reads.Delete(t.Context(), last); err != nil {
		t.Fatal(err)
	}
	if _, err := r.observe(t.Context(), key); err != nil || known("acme") || !known("other") {
		t.Errorf("known are acme %t, other %t (%v)", known("acme"), known("other"), err)
	}
}
