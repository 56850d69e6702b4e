package fleet

import (
	"context"
	"errors"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/daytwo-dev/daytwo/controllers/internal/fencing"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/bounded"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/tracker"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/transport"
	"github.com/daytwo-dev/daytwo/controllers/internal/kubeconfig"
	"github.com/daytwo-dev/daytwo/controllers/internal/managedfields"
	"github.com/daytwo-dev/daytwo/internal/netguard"
)

// ErrClaimed tells that another TenantCluster was admitted with the same identity.
var ErrClaimed = errors.New("the cluster is registered already")

// Options of a Fleet.
type Options struct {
	// Installation is the value of the label daytwo.dev/managed-by.
	Installation string
	// Rules that say which changes are drift.
	Rules    managedfields.Rules
	Timeouts Timeouts
	// Guard says which addresses the kubeconfig of a TenantCluster may lead to; if nil, public ones.
	Guard func(cluster types.NamespacedName) netguard.Guard
	// Fence refuses writes where another manager may lead; nil where there is none.
	Fence   *fencing.Fence
	Metrics *Metrics
	Clock   clock.PassiveClock
	Log     logr.Logger
}

// Fleet holds the connections, by the name of the TenantCluster. Safe for concurrent use.
type Fleet struct {
	options Options
	metrics *Metrics
	clock   clock.PassiveClock
	events  broadcaster

	mu          sync.Mutex
	connections map[types.NamespacedName]*connection
	trackers    map[types.NamespacedName]*tracker.Tracker
	admitted    map[types.UID]types.NamespacedName
}

// transport are the options of a connection to a cluster.
func (o Options) transport(cluster types.NamespacedName) transport.Options {
	options := transport.Options{Timeouts: o.Timeouts.transport(), Fence: o.Fence}
	if o.Guard != nil {
		options.Guard = o.Guard(cluster)
	}
	return options
}

// New returns a fleet without connections.
func New(options Options) *Fleet {
	return &Fleet{
		options:     options,
		metrics:     options.Metrics,
		clock:       options.Clock,
		connections: map[types.NamespacedName]*connection{},
		trackers:    map[types.NamespacedName]*tracker.Tracker{},
		admitted:    map[types.UID]types.NamespacedName{},
	}
}

// Close closes all connections. Call it when the controllers have ended: a manager ends what was added
// to it before them.
func (f *Fleet) Close() {
	f.mu.Lock()
	keys := make([]types.NamespacedName, 0, len(f.connections))
	for key := range f.connections {
		keys = append(keys, key)
	}
	f.mu.Unlock()
	for _, key := range keys {
		f.Disconnect(key)
	}
}

// Connect keeps the cluster connected by way of the given access. With the same access as before it
// does nothing; with another one it swaps: the old connection is closed first, and the admission
// stays.
func (f *Fleet) Connect(key types.NamespacedName, access kubeconfig.Access) {
	f.mu.Lock()
	old := f.connections[key]
	if old != nil && old.accessInUse().Fingerprint() == access.Fingerprint() {
		f.mu.Unlock()
		return
	}
	next := &connection{
		fleet: f, key: key, server: access.Server, access: access, tracker: f.trackerLocked(key), pace: bounded.NewPace(f.clock),
		suspicious: make(chan struct{}, 1), wake: make(chan struct{}, 1), retryNow: make(chan struct{}, 1), done: make(chan struct{}),
		state: State{Phase: Connecting, Since: f.clock.Now()},
	}
	if old != nil {
		next.admitted = old.admission()
	}
	ctx, stop := context.WithCancel(context.Background())
	next.stop = stop
	f.connections[key] = next
	f.mu.Unlock()

	if old != nil {
		old.end()
	}
	go next.run(ctx)
}

func (c *connection) admission() types.UID {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.admitted
}

// end stops a connection and waits until nothing of it is left.
func (c *connection) end() {
	c.stop()
	c.mu.Lock()
	if c.cluster != nil {
		c.cluster.transport.Close()
	}
	c.mu.Unlock()
	<-c.done
}

// Disconnect closes the connection and ends the admission. What was tracked stays until Forget.
func (f *Fleet) Disconnect(key types.NamespacedName) {
	f.mu.Lock()
	connection := f.connections[key]
	delete(f.connections, key)
	f.withdrawLocked(key)
	f.mu.Unlock()
	if connection != nil {
		connection.end()
		f.changed(key)
	}
	f.metrics.disconnected(key)
}

// Forget disconnects and drops all that is known of the cluster.
func (f *Fleet) Forget(key types.NamespacedName) {
	f.Disconnect(key)
	f.mu.Lock()
	delete(f.trackers, key)
	f.mu.Unlock()
	f.metrics.forget(key)
}

// State returns how a connection stands; false if there is none.
func (f *Fleet) State(key types.NamespacedName) (State, bool) {
	f.mu.Lock()
	connection := f.connections[key]
	f.mu.Unlock()
	if connection == nil {
		return State{}, false
	}
	return connection.read(), true
}

// Admit allows work in the cluster as long as its identity is the given one. No two keys are
// admitted with the same identity: the second gets ErrClaimed, and loses what admission it had.
func (f *Fleet) Admit(key types.NamespacedName, identity types.UID) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	connection := f.connections[key]
	if connection == nil {
		return nil
	}
	if holder, ok := f.admitted[identity]; ok && holder != key {
		f.withdrawLocked(key)
		connection.admit("")
		return ErrClaimed
	}
	f.withdrawLocked(key)
	f.admitted[identity] = key
	connection.admit(identity)
	return nil
}

// Withdraw ends the admission; the connection stays, so that its identity can be seen.
func (f *Fleet) Withdraw(key types.NamespacedName) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.withdrawLocked(key)
	if connection := f.connections[key]; connection != nil {
		connection.admit("")
	}
}

func (f *Fleet) withdrawLocked(key types.NamespacedName) {
	for identity, holder := range f.admitted {
		if holder == key {
			delete(f.admitted, identity)
		}
	}
}

// Get returns a cluster that is connected and admitted; false if it is not both right now.
func (f *Fleet) Get(key types.NamespacedName) (*Cluster, bool) {
	f.mu.Lock()
	connection := f.connections[key]
	f.mu.Unlock()
	if connection == nil {
		return nil, false
	}
	cluster := connection.current()
	return cluster, cluster != nil
}

// Tracker returns what is known of the objects in a cluster, connected or not.
func (f *Fleet) Tracker(key types.NamespacedName) *tracker.Tracker {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.trackerLocked(key)
}

func (f *Fleet) trackerLocked(key types.NamespacedName) *tracker.Tracker {
	known := f.trackers[key]
	if known == nil {
		known = tracker.New(f.events.object)
		f.trackers[key] = known
	}
	return known
}

func (f *Fleet) changed(key types.NamespacedName) { f.events.cluster(key) }
