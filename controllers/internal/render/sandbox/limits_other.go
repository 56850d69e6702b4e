//go:build !linux

package sandbox

import (
	"os"
	"syscall"
	"time"
)

// Executable is the file that this program was started from.
func Executable() (string, error) { return os.Executable() }

// Confine does nothing: only Linux counts a process's writable memory in a way that a Go
// program can be limited by. Elsewhere the garbage collector's limit and the time limit remain, and
// no function offered to templates opens a file or a connection.
func Confine(int64) error { return nil }

// ProcessorTime cannot be told.
func ProcessorTime(int) time.Duration { return 0 }

// OwnSession changes nothing: GiveWay has no use for it.
func OwnSession() *syscall.SysProcAttr { return nil }

// GiveWay does nothing: a process keeps its priority.
func GiveWay(int) {}

// GiveUpPriority does nothing: a process keeps its priority.
func GiveUpPriority() {}
