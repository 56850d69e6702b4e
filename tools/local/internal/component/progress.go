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
	fmt.Fprintf(b.progress, "%s %s: building, once for this machine\n", b.name, b.version)
	ended := make(chan struct{})
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		ticker := time.NewTicker(progressEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				fmt.Fprintf(b.progress, "%s %s: building, %s\n", b.name, b.version, since(start))
			case <-ended:
				return
			}
		}
	}()
	return func() {
		close(ended)
		<-stopped
		fmt.Fprintf(b.progress, "%s %s: took %s\n", b.name, b.version, since(start))
	}
}

func since(start time.Time) time.Duration {
	return time.Since(start).Round(time.Second)
}
