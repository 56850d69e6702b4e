package suspension

import (
	"strings"
	"testing"
	"time"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
)

var now = time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)

func until(offset time.Duration) map[string]string {
	return map[string]string{metav1alpha1.AnnotationSuspendUntil: now.Add(offset).Format(time.RFC3339)}
}

func TestSuspensionEndsByItself(t *testing.T) {
	if got := Of(false, until(time.Hour), now); !got.Active || !got.Until.Equal(now.Add(time.Hour)) {
		t.Errorf("before its end: %+v", got)
	}
	if got := Of(false, until(-time.Second), now); got.Active || !got.Until.IsZero() {
		t.Errorf("after its end: %+v", got)
	}
	if got := Of(true, until(time.Hour), now); !got.Active || !got.Until.IsZero() {
		t.Errorf("spec.suspend does not end by itself: %+v", got)
	}
}

func TestUnreadableTimeIsIgnoredWithAComplaint(t *testing.T) {
	got := Of(false, map[string]string{metav1alpha1.AnnotationSuspendUntil: "tomorrow"}, now)
	if got.Active || got.ParseError == "" {
		t.Errorf("got %+v", got)
	}
}

func TestJoinedSuspensionHoldsWhileEitherDoes(t *testing.T) {
	short, long, forever := Of(false, until(time.Minute), now), Of(false, until(time.Hour), now), Of(true, nil, now)
	if got := short.Or(long); !got.Until.Equal(long.Until) {
		t.Errorf("short or long ends at %v", got.Until)
	}
	if got := forever.Or(short); !got.Active || !got.Until.IsZero() {
		t.Errorf("forever or short: %+v", got)
	}
	if got := (Suspension{}).Or(short); !got.Active || !got.Until.Equal(short.Until) {
		t.Errorf("none or short: %+v", got)
	}
	if got := (Suspension{}).Or(Suspension{}); got.Active {
		t.Errorf("none or none: %+v", got)
	}
}

func TestACustomersSuspensionHoldsOffTheirOwnPoliciesOnly(t *testing.T) {
	cluster := &tenancyv1alpha1.TenantCluster{}
	cluster.Namespace, cluster.Spec.Suspend, cluster.Annotations = "acme", true, until(time.Hour)
	if got := InCluster(cluster, "acme", now); !got.Active {
		t.Errorf("their own: %+v", got)
	}
	if got := InCluster(cluster, "daytwo-system", now); got.Active {
		t.Errorf("the provider's: %+v", got)
	}
}

func TestTheProvidersSuspensionHoldsOffAll(t *testing.T) {
	cluster := &tenancyv1alpha1.TenantCluster{}
	cluster.Namespace = "acme"
	cluster.Annotations = map[string]string{metav1alpha1.AnnotationProviderSuspendUntil: now.Add(time.Hour).Format(time.RFC3339)}
	for _, namespace := range []string{"acme", "daytwo-system"} {
		if got := InCluster(cluster, namespace, now); !got.Active || !got.Until.Equal(now.Add(time.Hour)) {
			t.Errorf("policies of %s: %+v", namespace, got)
		}
	}
	cluster.Annotations[metav1alpha1.AnnotationProviderSuspendUntil] = "tomorrow"
	if got := OfCluster(cluster, now); got.Active || !strings.Contains(got.ParseError, "provider.daytwo.dev/suspend-until is ignored") {
		t.Errorf("one that cannot be read: %+v", got)
	}
}
