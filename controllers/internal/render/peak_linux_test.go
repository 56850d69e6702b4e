package render

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// peakMemory returns the most memory, in bytes, that a process has had resident.
func peakMemory(t *testing.T, pid int) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	var kib int64
	if _, err := fmt.Sscanf(after, "%d kB", &kib); err != nil {
		t.Fatal(err)
	}
	return kib << 10
}
