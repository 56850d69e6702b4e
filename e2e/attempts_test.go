package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/internal/listenertest"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
)

const (
	refusedService = "apiVersion: v1\nkind: Service\nmetadata: {name: refused-once}\nspec: {ports: [{port: 0}]}\n"
	unknownKind    = "apiVersion: unknown.example.com/v1\nkind: Widget\nmetadata: {name: widget}\n"

	// leftAlone is for how long at least nothing is tried again that a person must mend.
	leftAlone = 15 * time.Second
	// firstStep of the backoff of an AddonRelease; each is twice as long as the one before.
	firstStep = 200 * time.Millisecond
	steps     = 5
)

// TestWhatFailsIsTriedOncePerStep counts what the manager asks of the API server of a cluster.
func TestWhatFailsIsTriedOncePerStep(t *testing.T) {
	t.Parallel()
	t.Run("AnObjectThatIsRefused", func(t *testing.T) {
		t.Parallel()
		testTriedOnce(t, refusedService, metav1alpha1.ReasonRefused, "/services/refused-once")
	})
	t.Run("AKindThatIsUnknown", func(t *testing.T) {
		t.Parallel()
		testTriedOnce(t, unknownKind, metav1alpha1.ReasonUnknownKind, "unknown.example.com")
	})
	t.Run("AnObjectThatAWebhookHoldsUp", testTriedWithBackoff)
}

func testTriedOnce(t *testing.T, manifests, reason, word string) {
	c := newCustomer(t, 0, 1)
	cluster := c.clusters.bare[0]
	addon := c.newAddon("hopeless", manifests)
	must(t, env.Admin.Create(t.Context(), addon))
	c.awaitReleaseCondition(addon, cluster, metav1alpha1.ConditionStalled, metav1.ConditionTrue, reason)
	// The time in which nothing happens is what is tested.
	<-time.After(leftAlone)
	if made := requestsOfManager(t, cluster, word); len(made) != 1 {
		t.Errorf("within %s there were %d attempts: %+v", leftAlone, len(made), made)
	}
	c.awaitReleaseCondition(addon, cluster, metav1alpha1.ConditionStalled, metav1.ConditionTrue, reason)
}

// testTriedWithBackoff lets an object fail for a reason that may pass.
func testTriedWithBackoff(t *testing.T) {
	t.Parallel()
	c := newCustomer(t, 0, 1)
	cluster := c.clusters.bare[0]
	c.holdUp(cluster, "held-up")
	addon := c.newAddon("patient", strings.ReplaceAll(fmt.Sprintf(oneConfigMap, "blue"), "settings", "held-up"))
	must(t, env.Admin.Create(t.Context(), addon))
	var made []request
	expect.Eventually(t, "it was tried again and again", func(context.Context) error {
		if made = requestsOfManager(t, cluster, "/configmaps/held-up"); len(made) <= steps {
			return fmt.Errorf("there were %d attempts", len(made))
		}
		return nil
	})
	// Whatever else happens to the release, such as a change of its policy or its watches, may bring one attempt forward.
	var early []string
	for i, step := 1, firstStep; i < len(made); i, step = i+1, 2*step {
		if pause := made[i].RequestReceivedTimestamp.Sub(made[i-1].RequestReceivedTimestamp); pause < step {
			early = append(early, fmt.Sprintf("attempt %d comes %s after the one before, and not after %s", i+1, pause, step))
		}
	}
	if len(early) > 1 {
		t.Error(strings.Join(early, "; "))
	}
}

// holdUp makes an API server refuse a ConfigMap because it cannot reach a webhook.
func (c *customer) holdUp(cluster, name string) {
	c.Helper()
	hook := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "held-up"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "held-up.example.com", AdmissionReviewVersions: []string{"v1"}, SideEffects: ptr.To(admissionregistrationv1.SideEffectClassNone),
			ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: ptr.To("https://" + listenertest.Closed(c))},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.OperationAll},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
			}},
			MatchConditions: []admissionregistrationv1.MatchCondition{{Name: "name", Expression: fmt.Sprintf("request.name == %q", name)}},
		}},
	}
	workload := c.workload(cluster)
	must(c, workload.Create(c.Context(), hook))
	c.Cleanup(func() { must(c, workload.Delete(context.Background(), hook)) })
}
