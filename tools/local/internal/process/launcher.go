package process

import (
	"os/exec"
	"runtime"
)

// launcher starts programs that die with this one.
//
// The kernel ties a program to the thread that started it, not to the process.
// Goroutines move between threads, and a thread may end while the process goes
// on. So one goroutine, locked to its thread, starts all programs of a launcher
// and lives until close.
type launcher struct {
	requests chan launch
}

type launch struct {
	cmd    *exec.Cmd
	result chan error
}

func newLauncher() *launcher {
	l := &launcher{requests: make(chan launch)}
	go l.run()
	return l
}

func (l *launcher) run() {
	// Never unlocked: no other goroutine may come to this thread and end it.
	runtime.LockOSThread()
	for request := range l.requests {
		dieWithParent(request.cmd.SysProcAttr)
		request.result <- request.cmd.Start()
	}
}

func (l *launcher) start(cmd *exec.Cmd) error {
	request := launch{cmd: cmd, result: make(chan error)}
	l.requests <- request
	return <-request.result
}

func (l *launcher) close() {
	close(l.requests)
}
