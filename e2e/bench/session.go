package main

import (
	"io/fs"
	"path"
	"slices"
	"strings"
)

// dividesBySession is whether the kernel divides the processors among login sessions before it looks at the priorities of their
// threads (sched(7), "The autogroup feature"). It does so outside of control groups with a share of processor time. In a container that
// hides its control group from version 1 of the interface, the answer may be a wrong yes.
func dividesBySession(root fs.FS) bool {
	enabled, err := fs.ReadFile(root, "proc/sys/kernel/sched_autogroup_enabled")
	if err != nil || strings.TrimSpace(string(enabled)) != "1" {
		return false
	}
	groups, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return true
	}
	var unified string
	for line := range strings.Lines(string(groups)) {
		// Hierarchy, controllers and path, as in cgroups(7).
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		switch {
		case len(fields) < 3:
		case slices.Contains(strings.Split(fields[1], ","), "cpu"):
			return fields[2] == "/"
		case fields[0] == "0":
			unified = fields[2]
		}
	}
	// The root of version 2 has no such file, and neither has a group that its parent gives no processor time of its own.
	_, err = fs.Stat(root, path.Join("sys/fs/cgroup", unified, "cpu.weight"))
	return err != nil
}
