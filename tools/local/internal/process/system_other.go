//go:build !linux

package process

import (
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// ownSession keeps the signals of the starter's terminal away from a program.
func ownSession() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true}
}

// dieWithParent has no counterpart outside Linux; see the package comment.
func dieWithParent(*syscall.SysProcAttr) {}

// stopped tells whether a process stands still because of SIGSTOP.
func stopped(pid int) bool {
	output, err := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
	return err == nil && strings.HasPrefix(strings.TrimSpace(string(output)), "T")
}

// birthOf returns the time at which a process started, to the second, and
// whether it still runs.
func birthOf(pid int) (birth string, alive bool) {
	output, err := exec.Command("ps", "-o", "stat=,lstart=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return "", false
	}
	state, started, found := strings.Cut(strings.TrimSpace(string(output)), " ")
	return strings.TrimSpace(started), found && !strings.HasPrefix(state, "Z")
}
