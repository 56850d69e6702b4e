package main

import (
	"testing"
	"testing/fstest"
)

func TestProcessorsAreDividedBySessionOutsideOfControlGroups(t *testing.T) {
	const enabled, groups = "proc/sys/kernel/sched_autogroup_enabled", "proc/self/cgroup"
	for _, row := range []struct {
		name  string
		files map[string]string
		want  bool
	}{
		{"NoSuchFeature", nil, false},
		{"SwitchedOff", map[string]string{enabled: "0\n"}, false},
		{"NoControlGroups", map[string]string{enabled: "1\n"}, true},
		{"RootOfVersion1", map[string]string{enabled: "1\n", groups: "2:cpu,cpuacct:/\n0::/\n"}, true},
		{"GroupOfVersion1", map[string]string{enabled: "1\n", groups: "2:cpu,cpuacct:/bench\n0::/\n"}, false},
		{"RootOfVersion2", map[string]string{enabled: "1\n", groups: "0::/\n"}, true},
		{"GroupOfVersion2", map[string]string{enabled: "1\n", groups: "0::/bench\n", "sys/fs/cgroup/bench/cpu.weight": "100\n"}, false},
		{"GroupOfVersion2WithoutProcessorTime", map[string]string{enabled: "1\n", groups: "0::/bench\n", "sys/fs/cgroup/bench/cgroup.procs": ""}, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			root := fstest.MapFS{}
			for name, content := range row.files {
				root[name] = &fstest.MapFile{Data: []byte(content)}
			}
			if got := dividesBySession(root); got != row.want {
				t.Errorf("they are divided by session: %t", got)
			}
		})
	}
}
