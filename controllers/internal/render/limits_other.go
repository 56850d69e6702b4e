//go:build !linux

package render

import (
	"os"
	"time"
)

// executable is the file that this program was started from.
func executable() (string, error) { return os.Executable() }

// limitProcess does nothing: only Linux counts a process's writable memory in a way that a Go
// program can be limited by. Elsewhere the garbage collector's limit and the time limit remain, and
// no function offered to templates opens a file or a connection.
func limitProcess(int64) error { return nil }

// processorTime cannot be told.
func processorTime(int) time.Duration { return 0 }
