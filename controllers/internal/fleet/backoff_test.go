package fleet

import (
	"testing"
	"testing/synctest"
	"time"

	dto "github.com/prometheus/client_model/go"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daytwo-dev/daytwo/controllers/internal/kubeconfig"
	"github.com/daytwo-dev/daytwo/internal/listenertest"
)

// onFakeClock runs a test in which hours pass at once, as soon as nobody has anything to do. They begin
// now, so that certificates are valid. While a connection is open, no time passes.
func onFakeClock(t *testing.T, limits Timeouts, test func(*rig)) {
	t.Helper()
	now := time.Now()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(now))
		test(newRig(t, limits))
	})
}

// failures is how many attempts to connect had no answer.
func (r *rig) failures() int {
	r.Helper()
	synctest.Wait()
	var metric dto.Metric
	if err := r.fleet.metrics.requests.WithLabelValues("probe", "0").Write(&metric); err != nil {
		r.Fatal(err)
	}
	return int(metric.GetCounter().GetValue())
}

func TestClosedPortIsTriedOncePerStepOfTheBackoff(t *testing.T) {
	address := listenertest.Closed(t)
	onFakeClock(t, DefaultTimeouts(), func(r *rig) {
		r.fleet.Connect(r.key, kubeconfig.Access{Server: "https://" + address, Token: token})
		const resolution = 10 * time.Millisecond
		last, failures := time.Now(), 1
		if got := r.failures(); got != failures {
			r.Fatalf("there were %d attempts at first", got)
		}
		for _, step := range []time.Duration{1, 2, 4, 8, 16, 30, 30, 30} {
			for r.failures() == failures {
				time.Sleep(resolution)
			}
			took, most := time.Since(last), step*time.Second*11/10+resolution
			if took < step*time.Second || took > most {
				r.Errorf("attempt %d comes after %s, and not after %s to %s", failures+1, took, step*time.Second, most)
			}
			last, failures = time.Now(), failures+1
			if got := r.failures(); got != failures {
				r.Fatalf("there were %d attempts, and not %d", got, failures)
			}
		}
	})
}

func TestTryNowDoesNotWaitForTheEndOfTheBackoff(t *testing.T) {
	limits := DefaultTimeouts()
	limits.RetryMax = 24 * time.Hour
	way := forwardTo(t, "https://"+listenertest.Closed(t))
	onFakeClock(t, limits, func(r *rig) {
		connected := make(chan struct{}, 1)
		r.fleet.Subscribe(Subscriber{Cluster: func(key types.NamespacedName) {
			if state, _ := r.fleet.State(key); state.Phase == Connected {
				connected <- struct{}{}
			}
		}})
		r.fleet.Connect(r.key, shared.access(way.address()))
		// The steps add up to 2047 to 2252 seconds; the next one lasts 2048 seconds.
		time.Sleep(40 * time.Minute)
		before := r.failures()

		r.fleet.TryNow(r.key)
		if got := r.failures(); got != before+1 {
			r.Errorf("there were %d attempts before the request and %d after it", before, got)
		}
		time.Sleep(time.Hour)
		if got := r.failures(); got != before+1 {
			r.Errorf("the backoff began anew: there were %d attempts before and %d after it", before, got)
		}

		way.lead(r.T, shared.first.Endpoint())
		asked := time.Now()
		r.fleet.TryNow(r.key)
		<-connected
		if waited := time.Since(asked); waited != 0 {
			r.Errorf("the cluster is connected %s after the request", waited)
		}
	})
}
