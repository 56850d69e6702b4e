package fleet

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/tracker"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/transport"
)

// Phase of a connection.
type Phase string

// Phases of a connection.
const (
	// Connecting: no attempt has ended yet.
	Connecting Phase = "Connecting"
	// Connected: the cluster answers. Identity and Version are set.
	Connected Phase = "Connected"
	// Unreachable: the cluster does not answer; the next attempt follows by itself.
	Unreachable Phase = "Unreachable"
	// Unauthorized: the cluster answers and refuses the credentials.
	Unauthorized Phase = "Unauthorized"
)

// State of a connection.
type State struct {
	Phase Phase
	// Message says what was tried and what came of it, unless Connected.
	Message string
	// Identity of the cluster that the address last led to; empty before the first answer.
	Identity types.UID
	// Version of its API server, as in "v1.36.3".
	Version string
	// Unrecorded is what was found in it with the last probe.
	Unrecorded tracker.Unrecorded
	// LastSeen is when it last answered.
	LastSeen time.Time
	// Since is when Phase last changed.
	Since time.Time
}

// Timeouts of connections. The defaults notice a closed port within 10 s and lost packets within
// 25 s.
type Timeouts struct {
	// Connect bounds dialing, the TLS handshake and the check of the identity together.
	Connect time.Duration
	// PingAfter is how long a connection may be silent before it is asked for a sign of life.
	PingAfter time.Duration
	// Ping is how long that sign may take.
	Ping time.Duration
	// Probe is the time between two probes of a connection in which nothing is wrong.
	Probe time.Duration
	// Patience is how long a cluster may fail to answer before it counts as unreachable: an API
	// server that restarts is not news.
	Patience time.Duration
	// RetryMax is the longest time between two attempts to connect. The shortest is one second.
	RetryMax time.Duration
	// Request bounds one request.
	Request time.Duration
	// KindPatience is how long neither a list nor a watch of a kind may work before the kind is unknown.
	KindPatience time.Duration
	// WatchSilence is how long a watch may show neither an event nor a bookmark. API servers send a bookmark about
	// once a minute.
	WatchSilence time.Duration
}

// transport are those that the transport of a connection keeps.
func (t Timeouts) transport() transport.Timeouts {
	return transport.Timeouts{Connect: t.Connect, PingAfter: t.PingAfter, Ping: t.Ping}
}

// DefaultTimeouts returns the timeouts to use outside of tests.
func DefaultTimeouts() Timeouts {
	return Timeouts{
		Connect:   5 * time.Second,
		PingAfter: 7 * time.Second,
		Ping:      4 * time.Second,
		Probe:     time.Minute,
		Patience:  6 * time.Second,
		RetryMax:  30 * time.Second,
		Request:   15 * time.Second,

		KindPatience: 15 * time.Second,
		WatchSilence: 3 * time.Minute,
	}
}
