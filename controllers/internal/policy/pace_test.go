package policy

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/pace"
)

// 10,000 changes of the labels of one cluster in ten seconds wake its policies three times, and hold no other cluster up.
func TestLabelsThatFlapWakePoliciesSeldom(t *testing.T) {
	now := clocktesting.NewFakePassiveClock(time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC))
	r := &Reconciler[*addonsv1alpha1.SaaSAddon, *addonsv1alpha1.AddonRelease]{Clock: now}
	r.pace.Interval = pace.Interval
	cluster := func(name string, flap int) *tenancyv1alpha1.TenantCluster {
		return &tenancyv1alpha1.TenantCluster{ObjectMeta: metav1.ObjectMeta{
			Namespace: "customer", Name: name, Labels: map[string]string{"flap": fmt.Sprint(flap)},
		}}
	}
	due := map[time.Time]bool{}
	for flap := range 10_000 {
		now.SetTime(now.Now().Add(time.Millisecond))
		due[now.Now().Add(r.waitOf(cluster("flapping", flap), cluster("flapping", flap+1)))] = true
	}
	if len(due) != 3 {
		t.Errorf("woken %d times", len(due))
	}
	if wait := r.waitOf(cluster("other", 0), cluster("other", 1)); wait != 0 {
		t.Errorf("another cluster waits for %s", wait)
	}
	deleted := cluster("flapping", 1)
	deleted.DeletionTimestamp = &metav1.Time{Time: now.Now()}
	if wait := r.waitOf(cluster("flapping", 0), deleted); wait != 0 {
		t.Errorf("the deletion waits for %s", wait)
	}
}
