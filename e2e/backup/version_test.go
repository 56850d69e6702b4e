package backup

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
	"github.com/daytwo-dev/daytwo/tools/local/localfleet"
)

// TestAnOldVeleroIsToldOf plays a Velero that is older than those that there are here.
func TestAnOldVeleroIsToldOf(t *testing.T) {
	t.Parallel()
	cluster, err := env.Fleet.AddCluster(t.Context(), "older", localfleet.ClusterOptions{Bare: true})
	must(t, err)
	must(t, cluster.InstallVelero(t.Context()))
	c := newCustomer(t, "older")
	policy := c.create(c.yearly("nightly"))
	c.playVelero("older", "v1.14.1")
	told := c.awaitCondition(policy, "older", metav1alpha1.ConditionReady, metav1.ConditionFalse, backupv1alpha1.ReasonVeleroUnavailable)
	if !strings.Contains(told.Message, "v1.14.1") || !strings.Contains(told.Message, "install v1.18.1 or newer") {
		t.Errorf("the message is: %s", told.Message)
	}
	c.remove(policy)
}

// playVelero looks at the storage in Velero's place, and answers when it is asked for its version.
func (c *customer) playVelero(cluster, version string) {
	c.t.Helper()
	now := time.Now().UTC().Format(time.RFC3339)
	c.writeStatus(cluster, "BackupStorageLocation", `{"phase":"Available","lastValidationTime":"`+now+`"}`)
	c.writeStatus(cluster, "ServerStatusRequest", `{"phase":"Processed","serverVersion":"`+version+`"}`)
}

// writeStatus waits for the one object of a kind of Velero's, and writes its status.
func (c *customer) writeStatus(cluster, kind, status string) {
	c.t.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: "velero.io", Version: "v1", Kind: kind + "List"})
	expect.Eventually(c.t, "there is a "+kind, func(ctx context.Context) error {
		if err := c.workload(cluster).List(ctx, list, client.InNamespace("velero")); err != nil {
			return err
		}
		if len(list.Items) != 1 {
			return fmt.Errorf("there are %d", len(list.Items))
		}
		return c.workload(cluster).Patch(ctx, &list.Items[0], client.RawPatch("application/merge-patch+json", []byte(`{"status":`+status+`}`)))
	})
}
