package localfleet

import (
	"fmt"
	"io"
	"sync"
)

func (f *Fleet) progressf(format string, args ...any) {
	// Progress that nobody can read any more is no reason to stop.
	_, _ = fmt.Fprintf(f.progress, format+"\n", args...)
}

// lineWriter keeps the lines of several goroutines apart.
type lineWriter struct {
	mu  sync.Mutex
	out io.Writer
}

func (w *lineWriter) Write(line []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.Write(line)
}
