package fleet

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/bounded"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/tracker"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/transport"
	"github.com/daytwo-dev/daytwo/controllers/internal/kubeconfig"
)

// connection keeps one cluster connected, in one goroutine, from Connect to Disconnect.
type connection struct {
	fleet   *Fleet
	key     types.NamespacedName
	server  string
	tracker *tracker.Tracker
	pace    *bounded.Pace

	// suspicious is notified by a watch that ended: look now whether the cluster still answers.
	suspicious chan struct{}
	// wake is notified when the admission changed.
	wake chan struct{}
	// retryNow is notified when a person asked for a try: it ends a pause.
	retryNow chan struct{}
	// done is closed when run has returned.
	done chan struct{}
	stop context.CancelFunc

	mu       sync.Mutex
	access   kubeconfig.Access
	state    State
	admitted types.UID
	cluster  *Cluster
	// session is nil while there is no connection whose credentials could be renewed.
	session *transport.Transport
}

func notify(channel chan struct{}) {
	select {
	case channel <- struct{}{}:
	default:
	}
}

// run connects, watches over the connection until it is lost, and starts again.
func (c *connection) run(ctx context.Context) {
	defer close(c.done)
	retry := c.fleet.retries()
	for ctx.Err() == nil {
		session, err := c.contact(ctx)
		if err != nil {
			c.lost(ctx, err)
			c.pause(ctx, retry.Step())
			continue
		}
		retry = c.fleet.retries()
		err = c.supervise(ctx, session)
		c.closeCluster(err)
		c.hold(nil)
		session.Close()
		c.lost(ctx, err)
		// An address that leads to two clusters by turns must not be asked without end.
		c.pause(ctx, retry.Step())
	}
}

// contact opens a connection and learns who is there.
func (c *connection) contact(ctx context.Context) (*transport.Transport, error) {
	config := c.accessInUse().RESTConfig()
	config.UserAgent = metav1alpha1.FieldManager
	l, err := transport.New(config, c.fleet.options.transport(c.key), func() { notify(c.suspicious) })
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*c.fleet.options.Timeouts.Connect)
	defer cancel()
	through := c.fleet.metrics.count(l.RoundTripper())
	identity, err := transport.ReadIdentity(ctx, c.server, through)
	if err != nil {
		l.Close()
		return nil, err
	}
	// From here on: a connection that is opened in between must lead to the same cluster.
	l.Pin(identity, "")
	version, err := transport.ReadVersion(ctx, c.server, through)
	if err != nil {
		l.Close()
		return nil, err
	}
	l.Pin(identity, version)
	c.hold(l)
	c.set(func(state *State) {
		*state = State{Phase: Connected, Identity: identity, Version: version, Unrecorded: state.Unrecorded, LastSeen: c.fleet.clock.Now(), Since: state.since(Connected, c.fleet.clock.Now())}
	})
	return l, nil
}

// supervise returns when the connection is lost, with the reason.
func (c *connection) supervise(ctx context.Context, l *transport.Transport) error {
	for {
		if err := c.serve(ctx, l); err != nil {
			return err
		}
		timer := time.NewTimer(wait.Jitter(c.fleet.options.Timeouts.Probe, 0.1))
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-c.wake:
			timer.Stop()
			continue
		case <-c.mismatch():
			timer.Stop()
			return transport.ErrOtherCluster
		case <-c.suspicious:
		case <-c.retryNow:
		case <-timer.C:
		}
		timer.Stop()
		if err := c.probe(ctx, l); err != nil {
			return err
		}
	}
}

// serve hands the cluster out as long as its identity is the admitted one.
func (c *connection) serve(ctx context.Context, l *transport.Transport) error {
	c.mu.Lock()
	admitted := c.admitted != "" && c.admitted == c.state.Identity
	current := c.cluster
	state := c.state
	c.mu.Unlock()
	switch {
	case !admitted:
		c.closeCluster(nil)
	case current == nil:
		cluster, err := newCluster(ctx, c, l, state)
		if err != nil {
			return err
		}
		c.mu.Lock()
		c.cluster = cluster
		c.mu.Unlock()
		c.fleet.changed(c.key)
	}
	return nil
}

// closeCluster ends the cluster that is handed out, if there is one, and says why to those who still use it.
func (c *connection) closeCluster(why error) {
	c.mu.Lock()
	cluster := c.cluster
	c.cluster = nil
	c.mu.Unlock()
	if cluster != nil {
		cluster.close(why)
		c.tracker.Forget()
		c.fleet.changed(c.key)
	}
}

// probe asks the cluster for its identity until it answers or patience ends.
func (c *connection) probe(ctx context.Context, l *transport.Transport) error {
	timeouts := c.fleet.options.Timeouts
	give := c.fleet.clock.Now().Add(timeouts.Patience)
	for {
		err := c.ask(ctx, l)
		if err == nil || ctx.Err() != nil {
			return nil
		}
		if transport.IsNews(err) || IsUnauthorized(err) || !c.fleet.clock.Now().Before(give) {
			return err
		}
		c.pause(ctx, time.Second)
	}
}

func (c *connection) ask(ctx context.Context, l *transport.Transport) error {
	ctx, cancel := context.WithTimeout(ctx, c.fleet.options.Timeouts.Connect)
	defer cancel()
	identity, err := transport.ReadIdentity(ctx, c.server, c.fleet.metrics.count(l.RoundTripper()))
	if err != nil {
		return err
	}
	now := c.fleet.clock.Now()
	unrecorded := c.tracker.Unrecorded(now)
	if identity != c.read().Identity {
		return transport.ErrOtherCluster
	}
	c.set(func(state *State) { state.LastSeen, state.Unrecorded = now, unrecorded })
	return nil
}

// lost records why there is no connection. News are no loss: the next contact tells them.
func (c *connection) lost(ctx context.Context, err error) {
	if err == nil || ctx.Err() != nil || transport.IsNews(err) {
		return
	}
	phase := Unreachable
	if IsUnauthorized(err) {
		phase = Unauthorized
	}
	// What answered is the provider's to know: whoever wrote the kubeconfig reads the status.
	c.fleet.options.Log.V(1).Info("no connection", "cluster", c.key, "reason", err.Error())
	c.set(func(state *State) {
		state.Since = state.since(phase, c.fleet.clock.Now())
		state.Phase = phase
		state.Message = fmt.Sprintf("%s: %s", c.server, Describe(err))
	})
}

// logPhase tells once that a cluster is lost, and that it is found again.
func (c *connection) logPhase(before Phase, after State) {
	isLost := after.Phase == Unreachable || after.Phase == Unauthorized
	switch {
	case before == after.Phase:
	case isLost && (before == Connected || before == Connecting):
		c.fleet.options.Log.Info("cluster lost", "cluster", c.key.String(), "phase", string(after.Phase), "reason", after.Message)
	case after.Phase == Connected && before != Connecting:
		c.fleet.options.Log.Info("cluster found", "cluster", c.key.String(), "version", after.Version)
	}
}

// since keeps the time of the last change of phase.
func (s State) since(next Phase, now time.Time) time.Time {
	if s.Phase == next {
		return s.Since
	}
	return now
}

// set changes the state and tells of it, if there is anything to tell.
func (c *connection) set(change func(*State)) {
	c.mu.Lock()
	before := c.state
	change(&c.state)
	after := c.state
	c.mu.Unlock()
	c.fleet.metrics.seen(c.key, after)
	c.logPhase(before.Phase, after)
	after.LastSeen = before.LastSeen
	if before != after {
		c.fleet.changed(c.key)
	}
}

func (c *connection) read() State {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state
}

// admit sets the identity that may be worked with; empty for none.
func (c *connection) admit(identity types.UID) {
	c.mu.Lock()
	changed := c.admitted != identity
	c.admitted = identity
	c.mu.Unlock()
	if changed {
		notify(c.wake)
	}
}

func (c *connection) current() *Cluster {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cluster
}
