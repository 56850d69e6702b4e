package filelock

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

func TestAcquireNamesTheHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	lock, err := Acquire(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	impatient, cancel := context.WithCancel(t.Context())
	cancel()
	var held *HeldError
	if _, err := Acquire(impatient, path); !errors.As(err, &held) || held.Holder != strconv.Itoa(os.Getpid()) {
		t.Errorf("Acquire() = %v, want a HeldError that names process %d", err, os.Getpid())
	}
	lock.Release()
	again, err := Acquire(t.Context(), path)
	if err != nil {
		t.Fatalf("not free after its release: %v", err)
	}
	again.Release()
}
