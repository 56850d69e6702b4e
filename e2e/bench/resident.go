package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// resident is the memory, in MiB, of a process and of those that it started. A page that several share
// counts once, by parts.
type resident struct {
	own, workers float64
	// count of the workers.
	count int
}

func (r resident) total() float64 { return r.own + r.workers }

func (r resident) String() string {
	return fmt.Sprintf("%.1f MiB (%.1f in %d render workers)", r.total(), r.workers, r.count)
}

// residentMemory reads what only Linux tells.
func residentMemory(pid int) (resident, error) {
	own, err := proportionalSet(pid)
	if err != nil {
		return resident{}, fmt.Errorf("read the memory of process %d, which needs Linux: %w", pid, err)
	}
	all := resident{own: own}
	workers, err := childrenOf(pid)
	if err != nil {
		return resident{}, err
	}
	for _, worker := range workers {
		size, err := proportionalSet(worker)
		if isGone(err) {
			continue
		}
		if err != nil {
			return resident{}, err
		}
		all.workers += size
		all.count++
	}
	return all, nil
}

// isGone tells of a process that ended meanwhile.
func isGone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH)
}

// proportionalSet returns the resident memory of one process in MiB, with its part of what it shares.
func proportionalSet(pid int) (float64, error) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(content)) {
		size, found := strings.CutPrefix(line, "Pss:")
		if !found {
			continue
		}
		kib, err := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(size), "kB")))
		return float64(kib) / 1024, err
	}
	return 0, fmt.Errorf("smaps_rollup of process %d has no Pss", pid)
}

// childrenOf lists the processes that another one started.
func childrenOf(parent int) ([]int, error) {
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, err
	}
	var children []int
	for _, file := range files {
		content, err := os.ReadFile(file)
		if isGone(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if pid, of := parseStat(string(content)); of == parent {
			children = append(children, pid)
		}
	}
	return children, nil
}

// parseStat returns a process and its parent. The name between them may hold blanks and parentheses.
func parseStat(stat string) (pid, parent int) {
	fields := strings.Fields(stat[strings.LastIndex(stat, ")")+1:])
	if len(fields) < 2 {
		return 0, 0
	}
	before, _, _ := strings.Cut(stat, " ")
	pid, _ = strconv.Atoi(before)       // The kernel wrote it.
	parent, _ = strconv.Atoi(fields[1]) // The same.
	return pid, parent
}
