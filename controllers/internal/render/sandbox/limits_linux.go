package sandbox

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Executable is the program that is running, even if the file it was started from has been
// replaced since: manager and worker must speak the same protocol.
func Executable() (string, error) { return "/proc/self/exe", nil }

// Confine makes the kernel refuse this process more than bytes of memory beyond what it has
// already, and keeps it from leaving a core file, which could hold secrets. RLIMIT_DATA counts
// private writable mappings (since Linux 4.7), so also the Go heap, and not what the runtime
// merely reserves; a Go program that is refused memory dies with "out of memory". But what is mapped in
// place of a reservation is let through however large it is, so that one allocation of a gigabyte would
// pass: RLIMIT_AS, which counts every mapping, refuses the reservation.
//
// It also makes the kernel refuse it any further file or socket: whatever a template or a library
// tries, there is no other way out than the pipes that are open.
func Confine(bytes int64) error {
	if err := startPoller(); err != nil {
		return err
	}
	mapped, private, err := memoryBytes()
	if err != nil {
		return err
	}
	for resource, held := range map[int]int64{syscall.RLIMIT_AS: mapped, syscall.RLIMIT_DATA: private} {
		limit := uint64(held + bytes)
		if err := syscall.Setrlimit(resource, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
			return fmt.Errorf("limit memory to %d bytes: %w", limit, err)
		}
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{}); err != nil {
		return fmt.Errorf("forbid core files: %w", err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{}); err != nil {
		return fmt.Errorf("forbid further files: %w", err)
	}
	return nil
}

// ProcessorTime is what all threads of a process have taken, or zero if it has ended. Its clock is the one that
// clock_getcpuclockid(3) returns: the process ID inverted, and CPUCLOCK_SCHED of linux/posix-timers.h, which is
// precise to the nanosecond. Reading it opens no file.
func ProcessorTime(pid int) time.Duration {
	const scheduled = 2
	var taken unix.Timespec
	if err := unix.ClockGettime(int32(^pid)<<3|scheduled, &taken); err != nil {
		return 0
	}
	return time.Duration(taken.Nano())
}

// yielding is the nice value of a process that gives way: it gets about a tenth of a processor that another one wants too
// (sched_prio_to_weight in the kernel's kernel/sched/core.c: 110 to 1024).
const yielding = 10

// leastNice is the nice value with the smallest share.
const leastNice = 19

// OwnSession has a process started as the only one of its session, as GiveWay and GiveUpPriority need it.
func OwnSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// GiveWay lowers the priority of all threads of a process that was started with OwnSession, and of those that it starts later. There is
// no way back without a privilege. It does nothing if the process has ended.
func GiveWay(pid int) {
	setSessionNice(strconv.Itoa(pid), yielding)
	// A priority belongs to a thread; that of a group reaches all of them.
	_ = unix.Setpriority(unix.PRIO_PGRP, pid, yielding)
}

// GiveUpPriority lets this process, which was started with OwnSession, run only while nothing else of its control group wants the processor
// (SCHED_IDLE of sched(7)). It does nothing where the kernel refuses that. There is no way back without a privilege. It has to come before
// Confine, which leaves no file to read threads from.
func GiveUpPriority() {
	setSessionNice("self", leastNice)
	given := map[string]bool{}
	for before := -1; len(given) > before; {
		before = len(given)
		threads, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return
		}
		for _, thread := range threads {
			id, err := strconv.Atoi(thread.Name())
			if err != nil || given[thread.Name()] {
				continue
			}
			given[thread.Name()] = true
			// What a thread starts afterwards has its policy. What it started before is listed by the next look.
			_ = unix.SchedSetAttr(id, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_IDLE}, 0)
		}
	}
}

// setSessionNice sets the nice value of a process's session. Outside of control groups the kernel shares the processors among sessions
// first, and what their threads have as priorities counts within each (sched(7), "The autogroup feature"). Elsewhere it changes nothing.
func setSessionNice(process string, nice int) {
	_ = os.WriteFile("/proc/"+process+"/autogroup", []byte(strconv.Itoa(nice)), 0)
}

// startPoller makes the Go runtime open the files of its network poller, which its timers need
// and which it opens when it first has a use for them. A pipe is such a use.
func startPoller() error {
	r, w, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("start the poller: %w", err)
	}
	return errors.Join(r.Close(), w.Close())
}

// memoryBytes returns what RLIMIT_AS and RLIMIT_DATA count: the first and the sixth field of
// /proc/self/statm, in pages.
func memoryBytes() (mapped, private int64, err error) {
	const path = "/proc/self/statm"
	content, err := os.ReadFile(path)
	if err != nil {
		return 0, 0, err
	}
	fields := strings.Fields(string(content))
	if len(fields) < 6 {
		return 0, 0, fmt.Errorf("%s has %d fields, want at least 6", path, len(fields))
	}
	var pages [6]int64
	for i := range pages {
		if pages[i], err = strconv.ParseInt(fields[i], 10, 64); err != nil {
			return 0, 0, fmt.Errorf("read %s: %w", path, err)
		}
	}
	size := int64(os.Getpagesize())
	return pages[0] * size, pages[5] * size, nil
}
