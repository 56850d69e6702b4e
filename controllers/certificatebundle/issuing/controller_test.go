package issuing

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
)

// noted is a queue that keeps what it is given.
type noted struct {
	queue
	keys *[]Key
}

// Add implements workqueue.TypedInterface.
func (n noted) Add(key Key) { *n.keys = append(*n.keys, key) }

func newNoted() noted { return noted{keys: &[]Key{}} }

func labelledDelivery(named, has string) *certificatesv1alpha1.CertificateDelivery {
	made := delivery("prod", named, has)
	made.Labels[metav1alpha1.LabelCluster], made.Labels[metav1alpha1.LabelClusterNamespace] = "prod", "acme"
	return made
}

func TestADeliveryThatHasSomethingElseWakesItsCertificate(t *testing.T) {
	shared := newBundle()
	shared.Spec.SharedKey = true
	for name, test := range map[string]struct {
		bundle        *certificatesv1alpha1.CertificateBundle
		before, after *certificatesv1alpha1.CertificateDelivery
		want          []Key
	}{
		"it names another":            {bundle: newBundle(), before: labelledDelivery("a", "a"), after: labelledDelivery("b", "a"), want: []Key{webKey}},
		"it has another":              {bundle: newBundle(), before: labelledDelivery("b", "a"), after: labelledDelivery("b", "b"), want: []Key{webKey}},
		"nothing of that":             {bundle: newBundle(), before: labelledDelivery("b", "b"), after: labelledDelivery("b", "b")},
		"it is gone":                  {bundle: newBundle(), before: labelledDelivery("b", "b"), want: []Key{webKey}},
		"it has that of all clusters": {bundle: shared, before: labelledDelivery("b", "b"), want: []Key{{Bundle: webKey.Bundle}}},
		"its bundle is gone":          {before: labelledDelivery("b", "b")},
	} {
		t.Run(name, func(t *testing.T) {
			var there []client.Object
			if test.bundle != nil {
				there = append(there, test.bundle)
			}
			queue := newNoted()
			if events := observing(there...).deliveryEvents(); test.after != nil {
				events.Update(t.Context(), event.TypedUpdateEvent[client.Object]{ObjectOld: test.before, ObjectNew: test.after}, queue)
			} else {
				events.Delete(t.Context(), event.TypedDeleteEvent[client.Object]{Object: test.before}, queue)
			}
			if !slices.Equal(*queue.keys, test.want) {
				t.Errorf("it wakes %v", *queue.keys)
			}
		})
	}
}

func TestSecretsWakeTheirCertificateAndIssuancesTheirPolicy(t *testing.T) {
	material, issued := issuedFor(t, "prod.example.com")
	issuance := newIssuance(newBundle(), webKey, material, issued, "abcd", "s/1")
	source := issuance.DeepCopy()
	source.Annotations = nil
	foreign := issuance.DeepCopy()
	foreign.Labels = nil
	for name, test := range map[string]struct {
		secret      client.Object
		wakes, told int
	}{
		"an issuance":          {secret: issuance, wakes: 1, told: 1},
		"cert-manager's":       {secret: source, wakes: 1},
		"one of somebody else": {secret: foreign},
	} {
		t.Run(name, func(t *testing.T) {
			told := 0
			r := &Reconciler{Changed: func(bundle types.NamespacedName, cluster rollout.ClusterKey) {
				if told++; bundle != webKey.Bundle || cluster != webKey.Cluster {
					t.Errorf("told of %s in %v", bundle, cluster)
				}
			}}
			queue := newNoted()
			events := r.secretEvents()
			events.Create(t.Context(), event.TypedCreateEvent[client.Object]{Object: test.secret}, queue)
			// A resync is no news.
			events.Update(t.Context(), event.TypedUpdateEvent[client.Object]{ObjectOld: test.secret, ObjectNew: test.secret}, queue)
			if len(*queue.keys) != test.wakes || told != test.told {
				t.Errorf("it wakes %v, and %d are told", *queue.keys, told)
			}
			events.Delete(t.Context(), event.TypedDeleteEvent[client.Object]{Object: test.secret}, queue)
			if len(*queue.keys) != 2*test.wakes || told != 2*test.told {
				t.Errorf("gone, it wakes %v, and %d are told", *queue.keys, told)
			}
		})
	}
}
