package fencing

import (
	"context"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// Lock is a lock of the leader election whose renewals the Fence goes by.
func (f *Fence) Lock(inner resourcelock.Interface) resourcelock.Interface {
	return &lock{Interface: inner, fence: f}
}

type lock struct {
	resourcelock.Interface
	fence *Fence
}

// term is one time of leading, from acquiring the lease to losing it.
type term struct {
	transitions int
	acquired    int64
}

func termOf(record resourcelock.LeaderElectionRecord) term {
	return term{transitions: record.LeaderTransitions, acquired: record.AcquireTime.Unix()}
}

// Create implements resourcelock.Interface.
func (l *lock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.write(ctx, record, l.Interface.Create)
}

// Update implements resourcelock.Interface.
func (l *lock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.write(ctx, record, l.Interface.Update)
}

func (l *lock) write(ctx context.Context, record resourcelock.LeaderElectionRecord, write func(context.Context, resourcelock.LeaderElectionRecord) error) error {
	if record.HolderIdentity != l.Identity() {
		// The lease is given back: another manager may take it as soon as the API server has read this.
		l.fence.release()
		return write(ctx, record)
	}
	if err := l.fence.admits(termOf(record)); err != nil {
		return err
	}
	// The API server renews the lease later than this, and others count from later still.
	sent := l.fence.clock.Now()
	if err := write(ctx, record); err != nil {
		return err
	}
	l.fence.hold(termOf(record), sent, time.Duration(record.LeaseDurationSeconds)*time.Second)
	return nil
}
