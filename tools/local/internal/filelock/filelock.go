// Package filelock lets one program at a time work on something that several
// share, such as a cache or a state directory. The kernel drops the lock when
// its holder ends, however it ends.
package filelock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

const retryEvery = 50 * time.Millisecond

// Lock is a held lock.
type Lock struct {
	file *os.File
}

// HeldError says that another program holds the lock.
type HeldError struct {
	Path string
	// Holder is the holder's process id, or "" if that could not be read.
	Holder string
}

func (e *HeldError) Error() string {
	if e.Holder == "" {
		return fmt.Sprintf("%s is locked by another program", e.Path)
	}
	return fmt.Sprintf("%s is locked by process %s", e.Path, e.Holder)
}

// Acquire takes the lock at path, creating the file and its directory if
// needed. While somebody else holds it, Acquire tries again until ctx ends, and
// then returns a *HeldError.
func Acquire(ctx context.Context, path string) (*Lock, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lockFile(ctx, file); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &Lock{file: file}, nil
}

func lockFile(ctx context.Context, file *os.File) error {
	err := wait.PollUntilContextCancel(ctx, retryEvery, true, func(context.Context) (bool, error) {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR) {
			return false, nil
		}
		return err == nil, err
	})
	if wait.Interrupted(err) {
		return &HeldError{Path: file.Name(), Holder: readHolder(file)}
	}
	if err != nil {
		return fmt.Errorf("lock %s: %w", file.Name(), err)
	}
	return writeHolder(file)
}

// Release gives the lock up. The file stays: removing it would let two programs
// lock two different files of the same name.
func (l *Lock) Release() {
	_ = l.file.Close() // The kernel lets go of the lock even then.
}

func readHolder(file *os.File) string {
	content, err := os.ReadFile(file.Name())
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(content))
}

func writeHolder(file *os.File) error {
	if err := file.Truncate(0); err != nil {
		return err
	}
	_, err := fmt.Fprintln(file, os.Getpid())
	return err
}
