// Package ports hands out loopback ports that stay free until the program they
// are meant for listens on them, and stay reserved while that program is
// stopped for a while.
//
// Asking the kernel for a free port is not enough: fleets that start at the same
// time would be given the same ones, and a port of the ephemeral range can be
// taken by any outgoing connection.
package ports

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/daytwo-dev/daytwo/tools/local/internal/filelock"
)

// The range lies below the ephemeral ports of Linux (from 32768) and macOS
// (from 49152), and above the well-known ones that people forward by hand.
const (
	first = 20000
	last  = 31999
)

// Registry keeps the claims of one user on this machine, a file for each port.
type Registry struct {
	// Dir holds the claims.
	Dir string
}

// Claim reserves a free port for owner, a directory. The claim lasts until
// Release, or until owner no longer exists.
func (r Registry) Claim(ctx context.Context, owner string) (int, error) {
	lock, err := r.lock(ctx)
	if err != nil {
		return 0, err
	}
	defer lock.Release()

	const count = last - first + 1
	offset := rand.IntN(count)
	for i := range count {
		port := first + (offset+i)%count
		if r.claimed(port) || CheckFree(port) != nil {
			continue
		}
		return port, os.WriteFile(r.path(port), []byte(owner), 0o600)
	}
	return 0, fmt.Errorf("no free port between %d and %d on 127.0.0.1: end programs that listen there", first, last)
}

// Release gives back a port that owner claimed. Somebody else's claim is left
// alone.
func (r Registry) Release(ctx context.Context, owner string, port int) error {
	lock, err := r.lock(ctx)
	if err != nil {
		return err
	}
	defer lock.Release()

	if holder, err := os.ReadFile(r.path(port)); err != nil || string(holder) != owner {
		return nil
	}
	return os.Remove(r.path(port))
}

// CheckFree returns an error if something listens on the loopback port.
func CheckFree(port int) error {
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return fmt.Errorf("port %d is taken by another program: %w", port, err)
	}
	return listener.Close()
}

// patience is how long AwaitFree waits, and pause how long it does between two looks.
const (
	patience = 5 * time.Second
	pause    = 50 * time.Millisecond
)

// AwaitFree is CheckFree for a port whose program may just have been killed: where that was about to start another program, its
// sockets are open until the other one runs.
func AwaitFree(ctx context.Context, port int) error {
	var taken error
	_ = wait.PollUntilContextTimeout(ctx, pause, patience, true, func(context.Context) (bool, error) {
		taken = CheckFree(port)
		return taken == nil, nil
	})
	return taken
}

func (r Registry) lock(ctx context.Context) (*filelock.Lock, error) {
	return filelock.Acquire(ctx, filepath.Join(r.Dir, "lock"))
}

func (r Registry) claimed(port int) bool {
	owner, err := os.ReadFile(r.path(port))
	if err != nil {
		return false
	}
	_, err = os.Stat(string(owner))
	return !errors.Is(err, fs.ErrNotExist)
}

func (r Registry) path(port int) string {
	return filepath.Join(r.Dir, strconv.Itoa(port))
}
