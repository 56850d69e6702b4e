package orphans

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/daytwo-dev/daytwo/apis"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
)

// recordIn is a record of what a release left in a cluster.
func recordIn(name, cluster, id string) *tenancyv1alpha1.OrphanRecord {
	return &tenancyv1alpha1.OrphanRecord{
		ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: name},
		Spec: tenancyv1alpha1.OrphanRecordSpec{
			ClusterName: cluster, ClusterID: id, Message: "no answer",
			Owner: tenancyv1alpha1.OrphanOwner{Kind: "AddonRelease", Namespace: "acme", Name: "cache"},
		},
	}
}

func TestRecordsOfAClusterAreThoseOfItsNameOrItsIdentity(t *testing.T) {
	cluster := &tenancyv1alpha1.TenantCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "prod"}}
	cluster.Status.ClusterID = "blue"
	reads := fake.NewClientBuilder().WithScheme(apis.NewScheme()).WithObjects(
		recordIn("a", "prod", "red"), recordIn("b", "another", "blue"), recordIn("c", "another", "red"), recordIn("d", "another", ""),
	).Build()
	found, err := OfCluster(t.Context(), reads, cluster)
	if err != nil || len(found) != 2 || found[0].Name != "a" || found[1].Name != "b" {
		t.Errorf("found %v, %v", found, err)
	}
}

func TestMessageTellsOfTheFirstRecords(t *testing.T) {
	var records []tenancyv1alpha1.OrphanRecord
	for i := range 5 {
		records = append(records, *recordIn(fmt.Sprint("prod.", i), "prod", ""))
	}
	const want = "what may remain of this cluster is in 5 OrphanRecords of this namespace: deal with it, then delete them; " +
		"prod.0: AddonRelease acme/cache: no answer; prod.1: AddonRelease acme/cache: no answer; prod.2: AddonRelease acme/cache: no answer; and 2 more"
	if message := Message(records); message != want {
		t.Errorf("got  %s\nwant %s", message, want)
	}
}
