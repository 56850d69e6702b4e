package component

import (
	"fmt"
	"time"
)

const progressEvery = 10 * time.Second

// reportProgress tells that the build began and, until the returned function is
// called, every ten seconds that it goes on.
func (b *build) reportProgress() (stop func()) {
	start := time.Now()
	b.progressf("building, once for this machine")
	ended := make(chan struct{})
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		ticker := time.NewTicker(progressEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				b.progressf("building, %s", since(start))
			case <-ended:
				return
			}
		}
	}()
	return func() {
		close(ended)
		<-stopped
		b.progressf("took %s", since(start))
	}
}

func since(start time.Time) time.Duration {
	return time.Since(start).Round(time.Second)
}

// progressf says something about this build. Progress that nobody can read any
// more is no reason to stop.
func (b *build) progressf(format string, args ...any) {
	_, _ = fmt.Fprintf(b.progress, "%s %s: %s\n", b.name, b.version, fmt.Sprintf(format, args...))
}
