package probe

import (
	"hash/fnv"
	"time"
)

const (
	// interval between probes of a server that serves what it should, less up to a tenth of that, by which they are spread.
	interval = time.Hour
	// firstPause after a probe that did not find the certificate, which doubles with each further one, up to maxPause.
	firstPause = 2 * time.Second
	maxPause   = 5 * time.Minute
)

// Next is how long after a probe the next one is due, which fails in a row came before; id spreads the probes of many servers.
// It is pure.
func Next(fails int32, id string) time.Duration {
	digest := fnv.New32a()
	_, _ = digest.Write([]byte(id)) // It never fails.
	pause := interval
	if fails > 0 {
		pause = min(firstPause<<min(fails-1, 16), maxPause)
	}
	return pause - pause/10*time.Duration(digest.Sum32()%1000)/1000
}
