package issuing

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
)

// A Certificate that an earlier manager asked for, and that was not issued, shows only once Certificates are watched.
func TestABundleThatIsFoundHasCertificatesLookedFor(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		template *certificatesv1alpha1.CertificateTemplate
		want     int
	}{
		"with certificates":    {&certificatesv1alpha1.CertificateTemplate{DNSNames: []string{"shop.test"}}, 1},
		"without certificates": {nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[Key]())
			defer queue.ShutDown()
			bundle := &certificatesv1alpha1.CertificateBundle{
				ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "ingress"},
				Spec:       certificatesv1alpha1.CertificateBundleSpec{Certificate: test.template},
			}
			(&Reconciler{}).bundleEvents().Create(t.Context(), event.TypedCreateEvent[client.Object]{Object: bundle}, queue)
			if queue.Len() != test.want {
				t.Fatalf("%d certificates are looked at, want %d", queue.Len(), test.want)
			}
			if test.want == 0 {
				return
			}
			want := Key{Bundle: types.NamespacedName{Namespace: "acme", Name: "ingress"}}
			if key, _ := queue.Get(); key != want {
				t.Errorf("%s is looked at, want %s", key, want)
			}
		})
	}
}
