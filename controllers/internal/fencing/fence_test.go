package fencing

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	testingclock "k8s.io/utils/clock/testing"
)

const me = "manager-1"

// leaseServer is an API server that takes its time.
type leaseServer struct {
	resourcelock.Interface
	clock *testingclock.FakePassiveClock
	takes time.Duration
	err   error
	sent  int
}

func (s *leaseServer) Identity() string { return me }

func (s *leaseServer) Create(context.Context, resourcelock.LeaderElectionRecord) error {
	return s.answer()
}

func (s *leaseServer) Update(context.Context, resourcelock.LeaderElectionRecord) error {
	return s.answer()
}

func (s *leaseServer) answer() error {
	s.sent++
	s.clock.SetTime(s.clock.Now().Add(s.takes))
	return s.err
}

type fenceTest struct {
	*testing.T
	*Fence
	server *leaseServer
	lock   resourcelock.Interface
	record resourcelock.LeaderElectionRecord
}

func newFenceTest(t *testing.T) *fenceTest {
	clock := testingclock.NewFakePassiveClock(time.Now())
	f := New(clock)
	server := &leaseServer{clock: clock}
	return &fenceTest{T: t, Fence: f, server: server, lock: f.Lock(server), record: resourcelock.LeaderElectionRecord{
		HolderIdentity: me, LeaseDurationSeconds: 10, LeaderTransitions: 3, AcquireTime: metav1.NewTime(clock.Now()),
	}}
}

func (f *fenceTest) pass(time time.Duration) { f.server.clock.SetTime(f.server.clock.Now().Add(time)) }

func (f *fenceTest) expect(holds bool, when string) {
	f.Helper()
	if err := f.Check(); (err == nil) != holds || err != nil && !errors.Is(err, ErrNotLeader) {
		f.Errorf("%s: %v", when, err)
	}
}

func TestAFenceHoldsFromTheSendingOfTheLastRenewal(t *testing.T) {
	f := newFenceTest(t)
	f.expect(false, "before the lease was acquired")
	f.server.takes = 4 * time.Second
	if err := f.lock.Create(t.Context(), f.record); err != nil {
		t.Fatal(err)
	}
	f.expect(true, "4 s after the lease was acquired")
	f.pass(5*time.Second - time.Millisecond)
	f.expect(true, "just before nine tenths of the lease")
	f.pass(time.Millisecond)
	f.expect(false, "after nine tenths of the lease")

	f.server.takes = 0
	if err := f.lock.Update(t.Context(), f.record); err != nil {
		t.Fatal(err)
	}
	f.expect(true, "after the same term was renewed, which nobody else can have held in between")
	f.pass(8 * time.Second)
	f.server.err = errors.New("no answer")
	if err := f.lock.Update(t.Context(), f.record); err == nil {
		t.Fatal("a renewal that failed is told as one that did not")
	}
	f.pass(time.Second)
	f.expect(false, "a renewal that failed protects no longer")
}

func TestAFenceDoesNotHoldWhenTheLeaseIsGivenBack(t *testing.T) {
	f := newFenceTest(t)
	if err := f.lock.Create(t.Context(), f.record); err != nil {
		t.Fatal(err)
	}
	// Whether or not the answer arrives.
	f.server.err = errors.New("no answer")
	_ = f.lock.Update(t.Context(), resourcelock.LeaderElectionRecord{LeaseDurationSeconds: 1})
	f.expect(false, "after the lease was given back")
}

func TestAManagerThatLedDoesNotLeadAnotherTerm(t *testing.T) {
	f := newFenceTest(t)
	if err := f.lock.Create(t.Context(), f.record); err != nil {
		t.Fatal(err)
	}
	f.pass(time.Minute)
	f.record.LeaderTransitions++
	if err := f.lock.Update(t.Context(), f.record); !errors.Is(err, ErrNotLeader) {
		t.Errorf("acquiring another term gives %v", err)
	}
	if f.server.sent != 1 {
		t.Errorf("%d requests were sent, want the first only", f.server.sent)
	}
	f.expect(false, "after another term was refused")
}

func TestAFenceRefusesWritesAlone(t *testing.T) {
	f := newFenceTest(t)
	reached := 0
	inner := roundTripperFunc(func(*http.Request) (*http.Response, error) {
		reached++
		return &http.Response{StatusCode: http.StatusOK}, nil
	})
	for _, test := range []struct {
		method, url string
		passes      bool
	}{
		{http.MethodGet, "/api/v1/configmaps?watch=true", true},
		{http.MethodHead, "/api/v1/configmaps", true},
		{http.MethodPatch, "/api/v1/namespaces/a/configmaps/b?dryRun=All", true},
		{http.MethodPatch, "/api/v1/namespaces/a/configmaps/b", false},
		{http.MethodPost, "/api/v1/namespaces/a/configmaps", false},
		{http.MethodPut, "/api/v1/namespaces/a/configmaps/b", false},
		{http.MethodDelete, "/api/v1/namespaces/a/configmaps/b", false},
	} {
		reached = 0
		body := &closing{Reader: strings.NewReader("{}")}
		request, err := http.NewRequestWithContext(t.Context(), test.method, "https://cluster"+test.url, body)
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.RoundTripper(inner).RoundTrip(request)
		if (err == nil) != test.passes || (reached == 1) != test.passes || err != nil && !errors.Is(err, ErrNotLeader) {
			t.Errorf("%s %s: %v, reached %d times", test.method, test.url, err, reached)
		}
		if err != nil && !body.closed {
			t.Errorf("%s %s: its body was not closed", test.method, test.url)
		}
		var none *Fence
		if _, err := none.RoundTripper(inner).RoundTrip(request); err != nil {
			t.Errorf("%s %s without leader election: %v", test.method, test.url, err)
		}
	}
}

// A request that was checked may wait for a connection, or for its turn on one.
func TestAConnectionSendsNothingOfAManagerThatLed(t *testing.T) {
	f := newFenceTest(t)
	ours, theirs := net.Pipe()
	defer func() { _, _ = ours.Close(), theirs.Close() }()
	go func() { _, _ = io.Copy(io.Discard, theirs) }()
	guarded := f.Conn(ours)
	write := func(want error, when string) {
		t.Helper()
		if _, err := guarded.Write([]byte("x")); !errors.Is(err, want) {
			t.Errorf("%s: %v", when, err)
		}
	}
	write(nil, "a replica that never led reads too")
	if err := f.lock.Create(t.Context(), f.record); err != nil {
		t.Fatal(err)
	}
	write(nil, "while it leads")
	f.pass(9 * time.Second)
	write(ErrNotLeader, "after its lease")
}

type roundTripperFunc func(*http.Request) (*http.Response, error)

func (f roundTripperFunc) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

type closing struct {
	io.Reader
	closed bool
}

func (c *closing) Close() error {
	c.closed = true
	return nil
}
