//go:build !linux

package render

import "testing"

// peakMemory is known on Linux only, as is the limit.
func peakMemory(*testing.T, int) int64 { return 0 }
