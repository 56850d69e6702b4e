package process

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"
)

// Lifetime says what happens to a program when its starter ends.
type Lifetime int

const (
	// Detached programs go on.
	Detached Lifetime = iota
	// Tied programs die.
	Tied
)

// Spec is a program to start.
type Spec struct {
	// Name is unique in its Table, and usable as a file name.
	Name string
	Path string
	Args []string
	// Env is added to the environment of the starter.
	Env []string
	// Log is the file that standard output and error are appended to.
	Log string
}

// Table is the set of programs recorded in one directory.
type Table struct {
	dir    string
	launch func(*exec.Cmd) error
	close  func()

	mu      sync.Mutex
	started map[string]*Process
}

// NewTable opens the records in dir. Close it when nothing more will be started.
func NewTable(dir string, lifetime Lifetime) (*Table, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	t := &Table{dir: dir, started: map[string]*Process{}}
	t.launch, t.close = (*exec.Cmd).Start, func() {}
	if lifetime == Tied {
		l := newLauncher()
		t.launch, t.close = l.start, l.close
	}
	return t, nil
}

// Close frees what the table holds. Programs that still run are to be ended
// before, each by itself.
func (t *Table) Close() {
	t.close()
}

// Start runs a program under a new record.
func (t *Table) Start(spec Spec) (*Process, error) {
	p, err := t.start(spec)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", spec.Name, err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.started[spec.Name] = p
	return p, nil
}

func (t *Table) start(spec Spec) (*Process, error) {
	log, logStart, err := openLog(spec.Log)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	gate, opener, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer gate.Close()
	defer opener.Close()

	cmd := gatedCommand(spec, gate, log)
	if err := t.launch(cmd); err != nil {
		return nil, err
	}
	p := &Process{
		name:   spec.Name,
		log:    spec.Log,
		record: Record{PID: cmd.Process.Pid, Command: spec.Path, Log: spec.Log, LogStart: logStart, Started: time.Now().Round(0)},
		path:   t.path(spec.Name),
		done:   make(chan struct{}),
	}
	p.record.Birth, _ = birthOf(p.record.PID)
	go func() {
		defer close(p.done)
		_ = cmd.Wait() // The state says the same.
		p.ended = cmd.ProcessState
	}()
	if err := writeRecord(p.path, p.record); err != nil {
		return nil, err
	}
	_, err = opener.WriteString("go\n")
	return p, err
}

// Lookup returns the program of that name, if it has a record and still runs.
func (t *Table) Lookup(name string) (*Process, bool) {
	t.mu.Lock()
	p, ok := t.started[name]
	t.mu.Unlock()
	if !ok {
		record, err := readRecord(t.path(name))
		if err != nil {
			return nil, false
		}
		p = &Process{name: name, log: record.Log, record: record, path: t.path(name)}
	}
	return p, p.Alive()
}

// Forget drops the record of a program that has ended. One that runs is left
// alone.
func (t *Table) Forget(name string) error {
	if _, running := t.Lookup(name); running {
		return fmt.Errorf("%s still runs: end it before it is forgotten", name)
	}
	t.mu.Lock()
	delete(t.started, name)
	t.mu.Unlock()
	return ignoreNotExist(os.Remove(t.path(name)))
}

// Names returns the names of all records, sorted, whether their programs run
// or not.
func (t *Table) Names() ([]string, error) {
	return recordNames(t.dir)
}

func (t *Table) path(name string) string {
	return filepath.Join(t.dir, name+recordSuffix)
}

// gatedCommand runs a program behind a shell that waits for a line on gate, and
// gives up at its end of file. The program then takes the shell's place, with
// the same process id and birth.
func gatedCommand(spec Spec, gate, log *os.File) *exec.Cmd {
	const script = `read -r line <&3 && exec "$@" 3<&-`
	cmd := exec.Command("/bin/sh", append([]string{"-c", script, "sh", spec.Path}, spec.Args...)...)
	cmd.Env = append(os.Environ(), spec.Env...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = []*os.File{gate}
	cmd.SysProcAttr = ownSession()
	return cmd
}
