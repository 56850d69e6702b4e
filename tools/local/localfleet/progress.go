package localfleet

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/term"

	"github.com/daytwo-dev/daytwo/tools/local/internal/component"
)

func (f *Fleet) progressf(format string, args ...any) {
	// Progress that nobody can read any more is no reason to stop.
	_, _ = fmt.Fprintf(f.progress, format+"\n", args...)
}

// lineWriter keeps the lines of several goroutines apart.
type lineWriter struct {
	// transient lets lines through that the next one takes the place of.
	transient bool

	mu  sync.Mutex
	out io.Writer
	// terminal is told to empty the line that the last transient one is in.
	terminal bool
}

// newLineWriter shows transient lines on a terminal only.
func newLineWriter(out io.Writer) *lineWriter {
	file, isFile := out.(*os.File)
	terminal := isFile && term.IsTerminal(int(file.Fd())) && os.Getenv("TERM") != "dumb"
	return &lineWriter{out: out, transient: terminal, terminal: terminal}
}

// clearLine is what empties the line of a terminal (ECMA-48, EL).
const clearLine = "\x1b[K"

func (w *lineWriter) Write(line []byte) (int, error) {
	if !w.transient && bytes.HasSuffix(line, []byte(component.Transient)) {
		return len(line), nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.terminal {
		if _, err := io.WriteString(w.out, clearLine); err != nil {
			return 0, err
		}
	}
	return w.out.Write(line)
}
