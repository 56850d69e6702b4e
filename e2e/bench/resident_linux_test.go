package main

import (
	"os"
	"os/exec"
	"testing"
)

func TestMemoryOfWorkersCounts(t *testing.T) {
	worker := exec.Command("cat")
	in, err := worker.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := worker.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = in.Close(), worker.Wait() }()
	got, err := residentMemory(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if got.count != 1 || got.workers <= 0 || got.own <= got.workers {
		t.Errorf("%s, %.1f of its own; want one worker, smaller than this process", got, got.own)
	}
	if alone, err := residentMemory(worker.Process.Pid); err != nil || alone.count != 0 {
		t.Errorf("the worker has %d workers itself (%v); want none", alone.count, err)
	}
}

func TestAProcessIsReadWhateverItsNameIs(t *testing.T) {
	tests := map[string][2]int{
		"42 (daytwo) S 7 42 7 0":       {42, 7},
		"43 (a (b) c) d) R 8 43 8 0":   {43, 8},
		"44 (render worker) S 9 44 0 ": {44, 9},
		"":                             {0, 0},
	}
	for stat, want := range tests {
		if pid, parent := parseStat(stat); pid != want[0] || parent != want[1] {
			t.Errorf("%q: process %d of %d, want %d of %d", stat, pid, parent, want[0], want[1])
		}
	}
}
