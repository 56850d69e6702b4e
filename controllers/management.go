package controllers

import (
	"cmp"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes/scheme"
	typedcoordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	"github.com/daytwo-dev/daytwo/controllers/internal/deadline"
	"github.com/daytwo-dev/daytwo/controllers/internal/fencing"
)

// RequestLimits bound requests to the management cluster in time.
type RequestLimits = deadline.Limits

// DefaultRequestLimits are those to use outside of tests.
func DefaultRequestLimits() RequestLimits { return deadline.DefaultLimits() }

// Fence refuses writes from the moment in which this process may have lost the lease of the leader election. A nil
// Fence refuses none.
type Fence = fencing.Fence

// ManagementConfig returns a copy of a configuration whose requests end within limits, and whose writes are refused
// where fence does not hold.
func ManagementConfig(config *rest.Config, limits RequestLimits, fence *Fence) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(inner http.RoundTripper) http.RoundTripper { return deadline.RoundTripper(inner, limits) })
	if fence == nil {
		return config
	}
	config.Wrap(fence.RoundTripper)
	dial := config.Dial
	if dial == nil {
		// As client-go does by itself.
		dial = (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	}
	config.Dial = fence.Dial(dial)
	return config
}

// LeaderElection is how several managers agree on the one that works.
type LeaderElection struct {
	// Namespace and Name of the Lease.
	Namespace, Name string
	// Duration of the lease, in whole seconds: how long after its last renewal another manager waits.
	Duration time.Duration
}

// RenewDeadline is how long the leader tries to renew before it gives up.
func (e LeaderElection) RenewDeadline() time.Duration { return e.Duration * 2 / 3 }

// RetryPeriod is the time between two renewals, or two attempts to get the lease.
func (e LeaderElection) RetryPeriod() time.Duration { return e.Duration * 2 / 15 }

// Lock returns the lock of the leader election, and the fence that goes by it. The configuration must not be
// one of ManagementConfig: without the lease, it could not be had. The returned function ends the Events that tell
// of the leader; call it when the manager has ended.
func (e LeaderElection) Lock(config *rest.Config) (lock resourcelock.Interface, fence *Fence, end func(), err error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, nil, nil, fmt.Errorf("name this manager in the leader election: %w", err)
	}
	identity := host + "_" + string(uuid.NewUUID())
	config = rest.AddUserAgent(config, "leader-election")
	// One request that hangs must not cost the lease.
	config.Timeout = cmp.Or(config.Timeout, max(e.RenewDeadline()/2, time.Second))
	core, err := typedcorev1.NewForConfig(config)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("client for the leader election: %w", err)
	}
	coordination, err := typedcoordinationv1.NewForConfig(config)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("client for the leader election: %w", err)
	}
	events := record.NewBroadcaster()
	events.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: core.Events(e.Namespace)})
	lock, err = resourcelock.New(resourcelock.LeasesResourceLock, e.Namespace, e.Name, core, coordination,
		resourcelock.ResourceLockConfig{
			Identity:      identity,
			EventRecorder: events.NewRecorder(scheme.Scheme, corev1.EventSource{Component: identity}),
		})
	if err != nil {
		events.Shutdown()
		return nil, nil, nil, fmt.Errorf("lock of the leader election: %w", err)
	}
	fence = fencing.New(clock.RealClock{})
	return fence.Lock(lock), fence, events.Shutdown, nil
}
