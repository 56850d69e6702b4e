package process

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// ownSession keeps the signals of the starter's terminal away from a program.
func ownSession() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true}
}

func dieWithParent(attributes *syscall.SysProcAttr) {
	attributes.Pdeathsig = syscall.SIGKILL
}

// birthOf returns the time at which a process started, in clock ticks since the
// boot that is named with it, and whether it still runs.
func birthOf(pid int) (birth string, alive bool) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", false
	}
	// The second field is a name in parentheses and can hold anything. After it
	// come, by their numbers in proc(5), the state (3), the number of threads
	// (20) and the start time (22).
	const first, state, threads, startTime = 3, 3, 20, 22
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) <= startTime-first {
		return "", false
	}
	// The first thread of a killed process is a zombie already while others
	// still hold its files and ports. The kernel counts it until it is reaped.
	zombie := bytes.ContainsAny(fields[state-first], "ZX")
	count, err := strconv.Atoi(string(fields[threads-first]))
	ended := zombie && err == nil && count <= 1
	return bootID() + "/" + string(fields[startTime-first]), !ended
}

// stopped tells whether every thread of a process stands still because of SIGSTOP.
func stopped(pid int) bool {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil || len(threads) == 0 {
		return false
	}
	for _, thread := range threads {
		stat, err := os.ReadFile(filepath.Clean(thread))
		if err != nil {
			continue // It has ended meanwhile.
		}
		state := bytes.TrimSpace(stat[bytes.LastIndexByte(stat, ')')+1:])
		if !bytes.HasPrefix(state, []byte("T")) && !bytes.HasPrefix(state, []byte("Z")) && !bytes.HasPrefix(state, []byte("X")) {
			return false
		}
	}
	return true
}

// bootID is empty where the kernel does not tell, as in some sandboxes.
func bootID() string {
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(id))
}
