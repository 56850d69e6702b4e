package process

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/daytwo-dev/daytwo/tools/local/expect"
)

func newTable(t *testing.T, lifetime Lifetime) (*Table, string) {
	t.Helper()
	dir := t.TempDir()
	table, err := NewTable(filepath.Join(dir, "run"), lifetime)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(table.Close)
	return table, dir
}

// startShell runs a shell script, which is killed at the end of the test.
func startShell(t *testing.T, table *Table, dir, script string) *Process {
	t.Helper()
	p, err := table.Start(Spec{
		Name: "program", Path: "/bin/sh", Args: []string{"-c", script}, Log: filepath.Join(dir, "log"),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Kill(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return p
}

func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	expect.EventuallyTrue(t, what, func(context.Context) (bool, error) { return condition(), nil })
}

func TestAProgramIsFoundAgainByItsRecord(t *testing.T) {
	table, dir := newTable(t, Detached)
	started := startShell(t, table, dir, "exec sleep 100")

	other, err := NewTable(filepath.Join(dir, "run"), Detached)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	found, running := other.Lookup("program")
	if !running || found.PID() != started.PID() || found.Log() != started.Log() {
		t.Fatalf("found %+v, running %t; want process %d", found, running, started.PID())
	}
	if err := found.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the starter does not notice", func() bool { return !started.Alive() })
	if names, err := other.Names(); err != nil || len(names) != 0 {
		t.Errorf("records %v, %v are left of a program that was killed", names, err)
	}
}

func TestAnotherProcessWithTheSameIDIsLeftAlone(t *testing.T) {
	table, dir := newTable(t, Detached)
	p := startShell(t, table, dir, "exec sleep 100")
	stale := &Process{name: "stale", record: p.record, path: filepath.Join(dir, "stale")}
	stale.record.Birth = "another boot/1"

	if stale.Alive() {
		t.Error("a process that was born at another time passes for the recorded one")
	}
	if err := stale.Signal(syscall.SIGKILL); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("Signal() = %v, want os.ErrProcessDone", err)
	}
	if err := stale.Kill(t.Context()); err != nil {
		t.Error(err)
	}
	if !p.Alive() {
		t.Error("the process was killed for a record that is not its own")
	}
}

func TestNothingRunsWithoutARecord(t *testing.T) {
	table, dir := newTable(t, Detached)
	// A directory in the record's place makes writing it fail.
	if err := os.MkdirAll(filepath.Join(dir, "run", "program.json.new"), 0o755); err != nil {
		t.Fatal(err)
	}
	witness := filepath.Join(dir, "ran")
	_, err := table.Start(Spec{
		Name: "program", Path: "/bin/sh", Args: []string{"-c", "touch " + witness}, Log: filepath.Join(dir, "log"),
	})
	if err == nil {
		t.Fatal("Start succeeded without being able to write a record")
	}
	if _, err := os.Stat(witness); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the program ran although it has no record: %v", err)
	}
}

func TestTerminateLetsAProgramFinish(t *testing.T) {
	table, dir := newTable(t, Tied)
	p := startShell(t, table, dir, `trap 'echo finished; exit' TERM; echo ready; while :; do sleep 0.01; done`)
	waitForLog(t, p, "ready")
	if err := p.Terminate(t.Context(), 30*time.Second); err != nil {
		t.Fatal(err)
	}
	waitForLog(t, p, "finished")
}

func TestTerminateKillsAProgramThatDoesNotListen(t *testing.T) {
	table, dir := newTable(t, Tied)
	p := startShell(t, table, dir, `trap '' TERM; echo ready; while :; do sleep 0.01; done`)
	waitForLog(t, p, "ready")
	if err := p.Terminate(t.Context(), 100*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if p.Alive() {
		t.Error("the program is still alive")
	}
}

func waitForLog(t *testing.T, p *Process, text string) {
	t.Helper()
	eventually(t, "log has no "+text, func() bool {
		content, err := os.ReadFile(p.Log())
		return err == nil && bytes.Contains(content, []byte(text))
	})
}

func TestStopTellsHowAProgramEnded(t *testing.T) {
	for code, want := range map[string]string{"0": "", "7": "exit status 7"} {
		table, dir := newTable(t, Tied)
		p := startShell(t, table, dir, `trap 'exit `+code+`' TERM; echo ready; while :; do sleep 0.01; done`)
		waitForLog(t, p, "ready")
		if state := p.Ended(); state != nil {
			t.Errorf("a program that runs is said to have ended: %s", state)
		}
		err := p.Stop(t.Context())
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("Stop() = %v, want %q", err, want)
		}
		if state := p.Ended(); state == nil || strconv.Itoa(state.ExitCode()) != code {
			t.Errorf("the program is said to have ended with %v, not with code %s", state, code)
		}
		if names, err := table.Names(); err != nil || len(names) != 0 {
			t.Errorf("records %v, %v are left of a program that was stopped", names, err)
		}
	}
}

func TestStopKillsNoProgramThatTakesLonger(t *testing.T) {
	table, dir := newTable(t, Tied)
	p := startShell(t, table, dir, `trap '' TERM; echo ready; while :; do sleep 0.01; done`)
	waitForLog(t, p, "ready")
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := p.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Stop() = %v", err)
	}
	if !p.Alive() {
		t.Error("the program was killed")
	}
}

func TestLastLinesAreOfThisProgram(t *testing.T) {
	table, dir := newTable(t, Tied)
	first := startShell(t, table, dir, "seq 5")
	eventually(t, "the first program runs on", func() bool { return !first.Alive() })
	if said, err := first.LastLines(2); err != nil || said != "4\n5" {
		t.Errorf("the first program said %q, %v", said, err)
	}
	second := startShell(t, table, dir, ":")
	eventually(t, "the second program runs on", func() bool { return !second.Alive() })
	if said, err := second.LastLines(2); err != nil || said != "" {
		t.Errorf("the second program said %q, %v", said, err)
	}
}

func TestForgetLeavesNoRecordOfAProgramThatEnded(t *testing.T) {
	table, dir := newTable(t, Tied)
	p := startShell(t, table, dir, "exec sleep 100")
	if err := table.Forget("program"); err == nil {
		t.Error("a program that runs was forgotten")
	}
	if err := p.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the program does not end", func() bool { return !p.Alive() })
	if err := table.Forget("program"); err != nil {
		t.Error(err)
	}
	if names, err := table.Names(); err != nil || len(names) != 0 {
		t.Errorf("records %v, %v are left", names, err)
	}
}
