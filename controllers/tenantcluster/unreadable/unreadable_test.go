package unreadable

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/secretaccess"
)

func TestWhatIsKnownOfTheConnectionStands(t *testing.T) {
	clock := testingclock.NewFakePassiveClock(time.Unix(1000, 0))
	cluster := &tenancyv1alpha1.TenantCluster{ObjectMeta: metav1.ObjectMeta{Generation: 2}}
	cluster.Status = tenancyv1alpha1.TenantClusterStatus{
		ClusterID: "id", Version: "v1.36.3",
		Conditions: []metav1.Condition{
			{Type: tenancyv1alpha1.ConditionConnected, Status: metav1.ConditionTrue, Reason: tenancyv1alpha1.ReasonConnected},
			{Type: metav1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: metav1alpha1.ReasonSucceeded},
			{Type: metav1alpha1.ConditionReconciling, Status: metav1.ConditionTrue, Reason: metav1alpha1.ReasonProgressing},
		},
	}
	for what, deleted := range map[string]*metav1.Time{"": nil, "the deletion waits: ": {Time: time.Unix(999, 0)}} {
		after := *cluster.Status.DeepCopy()
		cluster.DeletionTimestamp = deleted
		Report(&after, cluster, clock, &secretaccess.Error{Namespace: "acme", Listed: true})
		ready := meta.FindStatusCondition(after.Conditions, metav1alpha1.ConditionReady)
		if ready.Status != metav1.ConditionFalse || ready.Reason != metav1alpha1.ReasonSecretsNotReadable || !strings.HasPrefix(ready.Message, what+"the manager may not read Secrets in namespace acme") {
			t.Errorf("Ready is %+v", ready)
		}
		if !meta.IsStatusConditionTrue(after.Conditions, metav1alpha1.ConditionStalled) || meta.FindStatusCondition(after.Conditions, metav1alpha1.ConditionReconciling) != nil {
			t.Errorf("it does not wait for a person: %+v", after.Conditions)
		}
		if !meta.IsStatusConditionTrue(after.Conditions, tenancyv1alpha1.ConditionConnected) || after.ClusterID != "id" || after.Version != "v1.36.3" || after.ObservedGeneration != 2 {
			t.Errorf("what was known is lost: %+v", after)
		}
	}
}

func TestOtherErrorsPass(t *testing.T) {
	broken := errors.New("broken")
	inner := reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
		return reconcile.Result{}, fmt.Errorf("observe: %w", broken)
	})
	if _, err := (Reconciler{Reconciler: inner}).Reconcile(t.Context(), reconcile.Request{}); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}
